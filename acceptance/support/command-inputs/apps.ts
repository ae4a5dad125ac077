import { newCategory } from '../reach/categories.ts';
import { adminsApp } from '../reach.ts';
import type { World } from '../world.ts';

/** How the commands about the records of apps are typed. */
export const appInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'apps list': () => [],
  'apps get': (world) => [world.app.slug],
  'apps mine': () => [],
  'apps owned': () => [],
  'apps received': () => [],
  'apps workspace': () => [],
  'apps discover': () => ['--created-within-days', '30'],
  'apps search': () => ['pet shop'],
  'apps check-availability': () => ['--slug', 'pet-shop', '--subdomain', unique('pets')],
  'apps create': async (world) => [
    ...['--name', unique('app'), '--summary', 'Everything for pets', '--resource-tier', 'M'],
    ...[
      '--category',
      (await newCategory(world)).slug,
      '--data-scopes',
      'orders,people',
      '--auth-mode',
      'bearer',
    ],
  ],
  'apps update': async (world) => [
    ...[
      await adminsApp(world),
      '--summary',
      'Everything for pets',
      '--clear-subdomain',
      '--cost-center',
      '4711',
    ],
  ],
};

const unique = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
