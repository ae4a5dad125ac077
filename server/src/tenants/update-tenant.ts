import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { checkedTenantName, type TenantRecord, tenantRecord } from './rules.ts';
import { lockTenantRow, type TenantRow, updateTenantRow } from './store.ts';

/** For the operator. A largest tier that comes down is judged when a tier is next chosen. */
export async function updateTenant(
  ctx: MutationCtx,
  input: { tenantId: string; name?: string; maxResourceTier?: TenantRow['max_resource_tier'] },
): Promise<TenantRecord> {
  const row = await lockTenantRow(ctx.db, input.tenantId);
  if (!row) throw fail('not_found');
  const set = {
    name: checkedTenantName(input.name ?? row.name),
    max_resource_tier: input.maxResourceTier ?? row.max_resource_tier,
  };
  await updateTenantRow(ctx.db, row.id, set);
  ctx.audit({
    action: 'tenants.update',
    target: { kind: 'tenant', id: row.id, name: row.slug },
    before: { name: row.name, max_resource_tier: row.max_resource_tier },
    after: set,
  });
  return tenantRecord({ ...row, ...set });
}
