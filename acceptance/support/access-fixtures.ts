import { setApp } from './database.ts';
import { post, privateApp } from './fixtures.ts';
import { done, newApp, newMember, type Person } from './people.ts';
import type { World } from './world.ts';

/** Nobody of the world has a role in it, and its tenant takes requests for access. */
export async function foreignInviteOnlyApp({ tenant }: World) {
  await done(tenant.admin.call('PATCH', tenant.base, { access_requests: true }));
  const { id } = await newApp(tenant, { owner: await newMember(tenant) });
  await setApp(tenant.server, id, { visibility: 'invite_only' });
  return { app: id };
}

/** A new member asks for access to an app of `owner`: the number of requests per person is limited. */
export async function accessRequest(world: World, owner: Person) {
  const { tenant } = world;
  await done(tenant.admin.call('PATCH', tenant.base, { access_requests: true }));
  const { app } = await privateApp(world, owner);
  await setApp(tenant.server, app, { visibility: 'invite_only' });
  const { id } = await post(world, await newMember(tenant), 'access-requests', { app });
  return { app, request: id as string };
}

export async function appWithRole(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const userID = world.people.M.id;
  await post(world, owner, `apps/${app}/roles`, { role: 'manager', user: userID });
  return { app, role: 'manager', userID };
}
