import type { World } from '../world.ts';

/** How the commands about a tenant's settings, and the one that opens pages, are typed. */
export const tenantInputs: Readonly<Record<string, (world: World) => string[]>> = {
  'tenants update': () => ['--name', `Tenant ${Bun.randomUUIDv7().slice(-12)}`],
  open: (world) => [world.app.slug, '--no-browser'],
};
