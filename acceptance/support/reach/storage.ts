import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

export const storageReach: Readonly<Record<string, (world: World) => Promise<Reached> | Reached>> = {
  'storage.status': ({ tenant, app }) => ({ params: { tenantID: tenant.id, app: app.id } }),
  'storage.enable': async (world) => ({
    params: {
      tenantID: world.tenant.id,
      app: (await newApp(world.tenant, ownersOf(world, world.people.O))).id,
    },
  }),
  'storage.list': (world) => inStorage(world),
  'storage.getUrl': (world) => inStorage(world, { '?key': 'a/b.txt' }),
  'storage.signUpload': async (world) => ({ ...(await inStorage(world)), body: { key: 'new.txt' } }),
  'storage.copy': async (world) => ({
    ...(await inStorage(world)),
    body: { from: 'a/b.txt', to: 'copy.txt' },
  }),
  'storage.delete': (world) => inStorage(world, { '?key': 'a/b.txt' }),
};

/** A private app whose storage holds one object, `a/b.txt`. */
export async function appWithObject(world: World, owner: Person): Promise<string> {
  const { id } = await newApp(world.tenant, ownersOf(world, owner));
  const storage = `${world.tenant.base}/apps/${id}/storage`;
  await owner.call('POST', `${storage}/enable`);
  const body = { key: 'a/b.txt', content_type: 'text/plain' };
  const signed = await owner.call('POST', `${storage}/upload-url`, body);
  const headers = { 'content-type': 'text/plain' };
  const stored = await fetch(signed.body.put_url, { method: 'PUT', headers, body: 'text' });
  if (stored.status !== 201) throw new Error(`An object could not be made: ${await stored.text()}`);
  return id;
}

async function inStorage(world: World, below: Record<string, string> = {}): Promise<Reached> {
  return { params: { tenantID: world.tenant.id, app: await appWithObject(world, world.people.O), ...below } };
}

const ownersOf = ({ people }: World, owner: Person) => ({ owner, coOwner: people.C });
