import { appWithRawDb } from '../reach/raw-db.ts';
import { newApp, type World } from '../world.ts';

export const rawDbInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'apps raw-db enable': async ({ tenant, people }) => {
    const { slug } = await newApp(tenant, { owner: people.A, coOwner: people.C });
    return ['--app', slug];
  },
  'apps raw-db rotate': async (world) => ['--app', await appWithRawDb(world, world.people.A)],
  'apps raw-db disable': async (world) => ['--app', await appWithRawDb(world, world.people.A)],
  'apps raw-db status': ({ app }) => ['--app', app.slug],
};
