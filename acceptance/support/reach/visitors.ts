import { setApp } from '../app-runtime.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

/** How the way to a site is reached: one that the whole internet is shown, so that it is there for everybody. */
export const visitorReach: Readonly<Record<string, (world: World) => Promise<Reached>>> = {
  'sites.startAuth': async (world) => ({ params: {}, body: { target: await shownSite(world, 'internet') } }),
};

/** The address of a site of O's with C as co-owner. */
export async function shownSite(
  { tenant, people }: World,
  visibility: 'private' | 'invite_only' | 'public' | 'internet',
): Promise<string> {
  const { id } = await newApp(tenant, { owner: people.O, coOwner: people.C });
  await setApp(tenant.server, id, { visibility, runtime: 'running', isDeployed: true });
  const { body } = await people.O.call('GET', `${tenant.base}/apps/${id}`);
  return `http://${body.subdomain}.apps.localhost:${tenant.server.port}/`;
}
