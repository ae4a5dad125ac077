import { createTaggedCache } from '../core/cache.ts';
import { under } from '../http/front.ts';
import type { Deps, Module } from '../http/module.ts';
import { leaveUnmanagedGroups } from './groups/members.ts';
import { groupRoutes } from './groups/routes.ts';
import { meRoutes } from './me/routes.ts';
import { onPerson } from './person-events.ts';
import { createScimHandler, scimPrefix } from './scim/handler.ts';
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
  routes: () => [...meRoutes, ...tenantRoutes, ...groupRoutes],
  handlers: (deps) => [{ matches: under(scimPrefix), handle: createScimHandler(deps) }],
  subscriptions: () => [onPerson({ deactivated: leaveUnmanagedGroups })],
};
