import { createTaggedCache } from '../core/cache.ts';
import type { Deps, Module } from '../http/module.ts';
import { meRoutes } from './me/routes.ts';
import { tenantRoutes } from './tenants/routes.ts';
import { createTenantAccess } from './tenants/tenants.ts';

export interface PeopleServices {
  tenantAccess: ReturnType<typeof createTenantAccess>;
}

export const people: Module = {
  name: 'people',
  open: ({ db, invalidation }: Deps): PeopleServices => ({
    tenantAccess: createTenantAccess({ db, cache: createTaggedCache(invalidation, { entriesMax: 10_000 }) }),
  }),
  routes: () => [...meRoutes, ...tenantRoutes],
};
