import { resourceTiers } from '@svc/contract/limits.ts';
import * as shapes from '@svc/contract/resource-presets.shapes.ts';
import * as endpoints from '@svc/contract/resource-presets.ts';
import type { TenantCtx } from '../../core/context.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { type Route, routes } from '../../http/router.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { isWithinTier } from '../record/rules.ts';

export const resourcePresetRoutes: Route[] = routes(endpoints, shapes, {
  listResourcePresets: (ctx, { query }) => listResourcePresets(ctx, query),
});

async function listResourcePresets(ctx: TenantCtx, query: PageQuery) {
  const max = (await findTenant(ctx, { ref: ctx.tenant.id }))?.max_resource_tier;
  if (!max) throw fail('not_found');
  const presets = resourceTiers.map((name) => ({
    name,
    ...endpoints.resourcesOf[name],
    allowed: isWithinTier(name, max),
    default: name === endpoints.usualTier(max),
  }));
  return paginate(query, presets);
}
