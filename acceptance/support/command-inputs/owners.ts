import { grantConsent } from '../reach/owners.ts';
import { newApp, type World } from '../world.ts';

/** An app of the admin's own, who runs the commands. */
async function adminsApp({ tenant, people: { A: owner, C: coOwner } }: World): Promise<string> {
  return (await newApp(tenant, { owner, coOwner })).id;
}

async function withConsent(world: World): Promise<string> {
  const app = await adminsApp(world);
  await grantConsent(world, { app, owner: world.people.A });
  return app;
}

export const ownerInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'apps ownership transfer': async (world) => [
    ...['--app', await adminsApp(world), '--to', world.people.M.email],
  ],
  'apps members list': (world) => [world.app.slug],
  'apps members add': async (world) => [...['--app', await adminsApp(world), '--user', world.people.M.email]],
  'apps members remove': async (world) => {
    const app = await adminsApp(world);
    const user = { user_id: world.people.M.id };
    await world.as.A('POST', `${world.tenant.base}/apps/${app}/members`, user);
    return ['--app', app, '--user', world.people.M.id];
  },
  'apps inspection-consent get': (world) => ['--app', world.app.slug],
  'apps inspection-consent set': async (world) => ['--app', await adminsApp(world), '--granted'],
  'apps inspection-consent ledger': (world) => ['--app', world.app.slug],
  'apps inspect': async (world) => [...[await withConsent(world), '--what', 'tables', '--reason', 'a look']],
};
