import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findPolicyRow, policyRecord } from './store.ts';

export async function getPolicy(ctx: TenantCtx, input: { policyId: string }) {
  const row = await findPolicyRow(ctx.db, ctx.tenant.id, input.policyId);
  if (!row) throw fail('not_found');
  return policyRecord(row);
}
