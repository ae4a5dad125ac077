import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appRecord } from './rules.ts';
import { findAppRow } from './store.ts';

export async function getApp(ctx: AppCtx) {
  const row = await findAppRow(ctx.db, ctx.tenant.id, ctx.app.id, 'any');
  if (!row) throw fail('not_found');
  return appRecord(row);
}
