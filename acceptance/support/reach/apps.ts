import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

/** How the listings of apps and the changes of their records are reached. */
export const appReach: Readonly<Record<string, (world: World) => Promise<Reached> | Reached>> = {
  'apps.list': inTenant,
  'apps.discover': inTenant,
  'apps.search': (world) => ({ params: { ...inTenant(world).params, '?q': 'pet shop' } }),
  'apps.checkAvailability': (world) => ({ params: { ...inTenant(world).params, '?slug': 'pet-shop' } }),
  'apps.mine': inTenant,
  'apps.owned': inTenant,
  'apps.received': inTenant,
  'apps.workspace': inTenant,
  'apps.create': (world) => ({ ...inTenant(world), body: { name: unique('app') } }),
  'apps.update': async ({ tenant, people }) => {
    const { id } = await newApp(tenant, { owner: people.O, coOwner: people.C });
    return { params: { tenantID: tenant.id, app: id }, body: { summary: unique('about') } };
  },
};

function inTenant({ tenant }: World): Reached {
  return { params: { tenantID: tenant.id } };
}

const unique = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
