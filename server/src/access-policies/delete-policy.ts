import { activeGrantIds } from '../grants/active-grant-ids.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { etagOf, matchesEtag } from '../plumbing/etag.ts';
import { fail } from '../plumbing/problem.ts';
import { auditedFields } from './rules.ts';
import { deletePolicyRow, lockPolicyRow } from './store.ts';

export async function deletePolicy(
  ctx: TenantMutationCtx,
  input: { policyId: string; ifMatch: string | undefined },
): Promise<undefined> {
  // The lock waits for grants that begin to use it; the look at grants comes after, and sees them.
  const row = await lockPolicyRow(ctx.db, ctx.tenant.id, input.policyId);
  if (!row) throw fail('not_found');
  if (!matchesEtag(input.ifMatch, etagOf(row))) throw fail('precondition_failed');
  const grantIds = await activeGrantIds(ctx.db, ctx.tenant.id, { policyId: row.id });
  if (grantIds.length > 0)
    throw fail('policy_in_use', { detail: `Active grants name it: ${grantIds.join(', ')}.` });
  await deletePolicyRow(ctx.db, ctx.tenant.id, row.id);
  ctx.audit({
    action: 'policies.delete',
    target: { kind: 'policy', id: row.id, name: row.name },
    before: auditedFields(row),
    after: null,
  });
}
