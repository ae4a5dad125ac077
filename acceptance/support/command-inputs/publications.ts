import { requested } from '../reach/publications.ts';
import { done } from '../rows-proof.ts';
import { newRelease } from '../sites.ts';
import { newApp, type World } from '../world.ts';

type Inputs = (world: World) => Promise<string[]> | string[];

export const publicationInputs: Readonly<Record<string, Inputs>> = {
  publish: async (world) => [
    ...['--app', await adminsSite(world), '--visibility', 'public', '--note', 'please look'],
  ],
  'review list': async (world) => {
    await requested(world);
    return [];
  },
  'review get': async (world) => [await requested(world)],
  'review history': async (world) => ['--app', await adminsSite(world)],
  'review approve': async (world) => [await requested(world), '--note', 'looks right'],
  'review reject': async (world) => [await requested(world), '--reason', 'the prices are wrong'],
  'review withdraw': async (world) => {
    const path = `${world.tenant.base}/apps/${await adminsSite(world)}/publication-requests`;
    return [(await done(world.as.A('POST', path, { visibility: 'public' }))).id];
  },
};

/** An app of the admin's whose site its owners see. */
async function adminsSite({ tenant, people }: World): Promise<string> {
  const { id } = await newApp(tenant, { owner: people.A, coOwner: people.C });
  const base = `${tenant.base}/apps/${id}/static`;
  await newRelease({ owner: people.A, base }, { 'index.html': '<h1>Home</h1>' }, { on_finalize: 'deploy' });
  return id;
}
