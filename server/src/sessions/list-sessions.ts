import type { Ctx } from '../plumbing/context.ts';
import { type SessionRecord, sessionsOf } from './rules.ts';
import { listLiveRows } from './store.ts';

/** The caller's own sign-ins, newest first. */
export async function listSessions(ctx: Ctx): Promise<{ items: SessionRecord[] }> {
  const rows = await listLiveRows(ctx.db, ctx.caller.userId, ctx.now);
  return { items: sessionsOf(rows, ctx.caller.credentialId) };
}
