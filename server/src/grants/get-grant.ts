import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findGrantRow, grantRecord } from './store.ts';

export async function getGrant(ctx: TenantCtx, input: { grantId: string }) {
  const row = await findGrantRow(ctx.db, ctx.tenant.id, input.grantId);
  if (!row) throw fail('not_found');
  return grantRecord(row);
}
