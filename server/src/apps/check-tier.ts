import { usualTier } from '@svc/contract/resource-presets.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { isWithinTier, type ResourceTier } from './rules.ts';

type Ctx = Pick<TenantMutationCtx, 'db' | 'tenant'>;

/** The tier, if the tenant may have it. */
export async function checkTier(ctx: Ctx, tier: ResourceTier): Promise<ResourceTier> {
  const max = await maxTierOf(ctx);
  if (isWithinTier(tier, max)) return tier;
  throw fail('resource_tier_exceeded', {
    detail: `The tier ${tier} is above ${max}, the highest that this tenant may have.`,
    errors: [{ field: 'resource_preset', code: 'resource_tier_exceeded', detail: `is above ${max}` }],
  });
}

export async function usualTierOf(ctx: Ctx): Promise<ResourceTier> {
  return usualTier(await maxTierOf(ctx));
}

async function maxTierOf(ctx: Ctx): Promise<ResourceTier> {
  return (await findTenant(ctx, { ref: ctx.tenant.id }))?.max_resource_tier ?? 'L';
}
