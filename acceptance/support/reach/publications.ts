import type { Letter } from '../document.ts';
import { newPerson, type Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { done } from '../rows-proof.ts';
import { newRelease } from '../sites.ts';
import { newApp, type World } from '../world.ts';

/** An app of O's with C as co-owner whose site its owners see. */
async function deployed({ tenant, people }: World): Promise<{ tenantID: string; app: string }> {
  const { id } = await newApp(tenant, { owner: people.O, coOwner: people.C });
  const base = `${tenant.base}/apps/${id}/static`;
  await newRelease({ owner: people.O, base }, { 'index.html': '<h1>Home</h1>' }, { on_finalize: 'deploy' });
  return { tenantID: tenant.id, app: id };
}

/** A request that waits, by an owner who is none of those that decide; its id. */
export async function requested(world: World): Promise<string> {
  const { app } = await deployed(world);
  const path = `${world.tenant.base}/apps/${app}/publication-requests`;
  const asking = await newCoOwner(world, app);
  return (await done(asking.call('POST', path, { visibility: 'public' }))).id;
}

/** Of that app alone: how often one person asks for a review in a minute is limited. */
export async function newCoOwner({ tenant, people }: World, app: string): Promise<Person> {
  const person = await newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_member' });
  await done(people.O.call('POST', `${tenant.base}/apps/${app}/co-owners`, { user_id: person.id }));
  return person;
}

/** For each who decides one of their own. */
const one = async (world: World, _: Letter): Promise<Reached> => ({
  params: { tenantID: world.tenant.id, request: await requested(world) },
});

/** Requests to publish, by the ids of the OpenAPI document. */
export const publicationReach: Readonly<Record<string, (world: World, letter: Letter) => Promise<Reached>>> =
  {
    'publications.request': async (world) => ({
      params: await deployed(world),
      body: { visibility: 'public', note: 'please look' },
    }),
    'publications.listOfApp': async (world) => ({ params: await deployed(world) }),
    'publications.list': async (world) => ({ params: { tenantID: world.tenant.id } }),
    'publications.get': one,
    'publications.approve': one,
    'publications.reject': async (world, letter) => ({
      ...(await one(world, letter)),
      body: { reason: 'the prices are wrong' },
    }),
    'publications.withdraw': one,
  };
