import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

/** How the settings of a tenant, and the audit of an app in it, are reached. */
export const tenantReach: Readonly<Record<string, (world: World) => Reached>> = {
  'tenants.update': ({ tenant }) => ({
    params: { tenantID: tenant.id },
    body: { name: `Tenant ${Bun.randomUUIDv7().slice(-12)}` },
  }),
  'audit.listOfApp': ({ tenant, app }) => ({ params: { tenantID: tenant.id, app: app.id } }),
};
