import { resourceTiers } from '@svc/contract/limits.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { resourcePreset } from './rules.ts';

export async function listResourcePresets(ctx: TenantCtx, query: PageQuery) {
  const tenant = await findTenant(ctx, { ref: ctx.tenant.id });
  if (!tenant) throw fail('not_found');
  const presets = resourceTiers.map((tier) => resourcePreset(tier, { max: tenant.max_resource_tier }));
  return pageOf(query, presets);
}
