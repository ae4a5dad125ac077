import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appWithObject } from '../reach/storage.ts';
import { temporaryFolder } from '../server.ts';
import { newApp, type World } from '../world.ts';

export const storageInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'apps storage status': ({ app }) => ['--app', app.slug],
  'apps storage enable': async ({ tenant, people }) => {
    const { slug } = await newApp(tenant, { owner: people.A, coOwner: people.C });
    return ['--app', slug];
  },
  'apps storage ls': async (world) => ['--delimiter', '/', ...(await adminsStorage(world))],
  'apps storage get-url': async (world) => ['a/b.txt', ...(await adminsStorage(world))],
  'apps storage rm': async (world) => ['a/b.txt', ...(await adminsStorage(world))],
  'apps storage put': async (world) => [file(), 'docs/', ...(await adminsStorage(world))],
  'apps storage cp': async (world) => [':a/b.txt', ':b/c.txt', ...(await adminsStorage(world))],
};

const adminsStorage = async (world: World) => ['--app', await appWithObject(world, world.people.A)];

function file(): string {
  const path = join(temporaryFolder(), 'notes.txt');
  writeFileSync(path, 'some notes');
  return path;
}
