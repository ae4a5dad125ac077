import { resourceTiers } from '@svc/contract/limits.ts';
import { resourcesOf, usualTier } from '@svc/contract/resource-presets.ts';
import type { TenantCtx } from '../../core/context.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { isWithinTier } from '../record/rules.ts';

export async function listResourcePresets(ctx: TenantCtx, query: PageQuery) {
  const max = (await findTenant(ctx, { ref: ctx.tenant.id }))?.max_resource_tier;
  if (!max) throw fail('not_found');
  const presets = resourceTiers.map((name) => ({
    name,
    ...resourcesOf[name],
    allowed: isWithinTier(name, max),
    default: name === usualTier(max),
  }));
  return paginate(query, presets);
}
