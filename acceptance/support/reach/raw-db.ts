import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

export const rawDbReach: Readonly<Record<string, (world: World) => Promise<Reached> | Reached>> = {
  'rawDb.get': ({ tenant, app }) => ({ params: { tenantID: tenant.id, app: app.id } }),
  'rawDb.enable': async (world) => ({
    params: {
      tenantID: world.tenant.id,
      app: (await newApp(world.tenant, ownersOf(world, world.people.O))).id,
    },
  }),
  'rawDb.rotate': async (world) => ({
    params: { tenantID: world.tenant.id, app: await appWithRawDb(world, world.people.O) },
  }),
  'rawDb.disable': async (world) => ({
    params: { tenantID: world.tenant.id, app: await appWithRawDb(world, world.people.O) },
  }),
};

/** A private app that has a database of its own, be it made already or not. */
export async function appWithRawDb(world: World, owner: Person): Promise<string> {
  const { id } = await newApp(world.tenant, ownersOf(world, owner));
  const { status, body } = await owner.call('POST', `${world.tenant.base}/apps/${id}/raw-db/enable`);
  if (status !== 200) throw new Error(`A raw database could not be made: ${JSON.stringify(body)}`);
  return id;
}

const ownersOf = ({ people }: World, owner: Person) => ({ owner, coOwner: people.C });
