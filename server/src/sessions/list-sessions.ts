import type { Ctx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { sessionsOf } from './rules.ts';
import { listLiveRows } from './store.ts';

/** The caller's own sign-ins, newest first. */
export async function listSessions(ctx: Ctx, query: PageQuery) {
  const rows = await listLiveRows(ctx.db, ctx.caller.userId, ctx.now);
  return pageOf(query, sessionsOf(rows, ctx.caller.credentialId));
}
