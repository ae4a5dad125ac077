import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

/** A private app of O's, with C as its co-owner, for calls that change it. */
async function ofOwner({ tenant, people: { O: owner, C: coOwner } }: World) {
  return { tenantID: tenant.id, app: (await newApp(tenant, { owner, coOwner })).id };
}

/** Its owner lets admins look into it. */
export async function grantConsent(
  world: World,
  { app, owner }: { app: string; owner: Person },
): Promise<void> {
  const { status, body } = await owner.call('PUT', `${world.tenant.base}/apps/${app}/inspection-consent`, {
    granted: true,
  });
  if (status !== 200) throw new Error(`No consent was granted: ${JSON.stringify(body)}`);
}

async function withConsent(world: World) {
  const params = await ofOwner(world);
  await grantConsent(world, { app: params.app, owner: world.people.O });
  return params;
}

/** Ownership, members and inspection, by the ids of the OpenAPI document. */
export const ownerReach: Readonly<Record<string, (world: World) => Promise<Reached>>> = {
  'ownership.transfer': async (world) => ({
    params: await ofOwner(world),
    body: { to: world.people.M.id },
  }),
  'appMembers.list': async (world) => ({ params: await ofOwner(world) }),
  'appMembers.add': async (world) => ({
    params: await ofOwner(world),
    body: { user_id: world.people.M.id },
  }),
  // Where one person stands for all, nobody is left to be invited; the calls of that test look for no member.
  'appMembers.remove': async (world) => {
    const params = await ofOwner(world);
    const userID = world.people.M.id;
    await world.as.O('POST', `${world.tenant.base}/apps/${params.app}/members`, { user_id: userID });
    return { params: { ...params, userID } };
  },
  'inspectionConsent.get': async (world) => ({ params: await ofOwner(world) }),
  // To revoke is for every owner; to grant for one of them, which `owners.test.ts` looks at.
  'inspectionConsent.set': async (world) => ({
    params: await withConsent(world),
    body: { granted: false },
  }),
  'inspections.list': async (world) => ({ params: await ofOwner(world) }),
  'inspections.create': async (world) => ({
    params: await withConsent(world),
    body: { what: 'tables', reason: 'a look' },
  }),
};
