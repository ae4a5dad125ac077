import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

export const domainReach: Readonly<Record<string, (world: World) => Promise<Reached> | Reached>> = {
  'domains.list': ({ tenant, app }) => ({ params: { tenantID: tenant.id, app: app.id } }),
  'domains.add': async (world) => {
    const { app, tenantID } = (await inDomain(world)).params;
    return { params: { tenantID: tenantID!, app: app! }, body: { host: newHost() } };
  },
  'domains.get': (world) => inDomain(world),
  'domains.remove': (world) => inDomain(world),
  'domains.verify': (world) => inDomain(world),
};

/** Of a domain that is none of the DNS, so that nobody need be asked about it. */
const newHost = () => `www.h${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.invalid`;

/** A private app with a host that waits. */
export async function appWithDomain(world: World, owner: Person): Promise<{ app: string; domain: string }> {
  const { id: app } = await newApp(world.tenant, { owner, coOwner: world.people.C });
  const made = await owner.call('POST', `${world.tenant.base}/apps/${app}/domains`, { host: newHost() });
  if (made.status !== 201) throw new Error(`A domain could not be added: ${JSON.stringify(made.body)}`);
  return { app, domain: made.body.id };
}

async function inDomain(world: World): Promise<Reached> {
  return { params: { tenantID: world.tenant.id, ...(await appWithDomain(world, world.people.O)) } };
}
