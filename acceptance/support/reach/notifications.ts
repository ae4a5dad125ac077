import type { Letter } from '../document.ts';
import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

type Reach = (world: World, letter: Letter) => Promise<Reached> | Reached;

export const notificationReach: Readonly<Record<string, Reach>> = {
  'notifications.list': ({ tenant }) => ({ params: { tenantID: tenant.id } }),
  'notifications.read': async (world, letter) => ({
    params: { tenantID: world.tenant.id },
    body: { ids: [await newNotification(world, world.ownerFor(letter))] },
  }),
};

/** The person is made co-owner of somebody else's app, and is told so. */
export async function newNotification(world: World, person: Person): Promise<string> {
  const { O, C } = world.people;
  const app = await newApp(world.tenant, { owner: person.id === O.id ? C : O, coOwner: person });
  const { body } = await person.call('GET', `${world.tenant.base}/me/notifications?per_page=200`);
  const told = body.items.find((item: { app_id: string }) => item.app_id === app.id);
  if (!told) throw new Error('Who was made a co-owner was not told.');
  return told.id;
}
