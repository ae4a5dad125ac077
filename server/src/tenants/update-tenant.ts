import { countAppsAboveTier } from '../apps/count-apps-above-tier.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { checkedTenantName, type TenantRecord, tenantRecord } from './rules.ts';
import { lockTenantRow, type TenantRow, updateTenantRow } from './store.ts';

/** For the operator and for the tenant's admins. A largest tier that comes down is judged when a tier is next chosen. */
export async function updateTenant(
  ctx: MutationCtx,
  input: { tenantId: string; name?: string; maxResourceTier?: TenantRow['max_resource_tier'] },
): Promise<TenantRecord & { changed?: false }> {
  const row = await lockTenantRow(ctx.db, input.tenantId);
  if (!row) throw fail('not_found');
  const set = {
    name: checkedTenantName(input.name ?? row.name),
    max_resource_tier: input.maxResourceTier ?? row.max_resource_tier,
  };
  ctx.audit({
    action: 'tenants.update',
    target: { kind: 'tenant', id: row.id, name: row.slug },
    before: { name: row.name, max_resource_tier: row.max_resource_tier },
    after: set,
  });
  const isSame = set.name === row.name && set.max_resource_tier === row.max_resource_tier;
  if (isSame) return { ...tenantRecord(row), changed: false };
  await updateTenantRow(ctx.db, row.id, set);
  if (set.max_resource_tier !== row.max_resource_tier) await warnOfLarger(ctx, row.id, set.max_resource_tier);
  return tenantRecord({ ...row, ...set });
}

async function warnOfLarger(
  ctx: MutationCtx,
  tenantId: string,
  tier: TenantRow['max_resource_tier'],
): Promise<void> {
  const larger = await countAppsAboveTier(ctx.db, tenantId, { tier });
  if (larger === 0) return;
  const apps =
    larger === 1
      ? '1 app has a tier above it and keeps it'
      : `${larger} apps have a tier above it and keep it`;
  ctx.warn(`${apps}, until another is chosen.`);
}
