import { newPageTemplate, pageRepository } from '../git-repos.ts';
import { newCategory } from '../reach/categories.ts';
import type { World } from '../world.ts';

/** How the commands about categories, and about what an app can be made with, are typed. */
export const categoryInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'categories list': () => [],
  'categories get': async (world) => [(await newCategory(world)).slug],
  'categories create': () => [
    ...['--name', `Category ${Bun.randomUUIDv7().slice(-12)}`, '--color', '#00897b', '--display-order', '10'],
    ...['--icon-url', 'https://example.test/icon.svg', '--description', 'What stands in it'],
  ],
  'categories update': async (world) => [(await newCategory(world)).slug, '--display-order', '20'],
  'categories delete': async (world) => [(await newCategory(world)).id],
  'apps resource-presets': () => [],
  'apps templates list': () => [],
  'apps templates add': async (world) => [
    ...['--repo', await pageRepository(world.tenant, world.people.A), '--name', 'A page', '--ref', 'main'],
    ...['--alias', `page-${Bun.randomUUIDv7().slice(-12)}`, '--description', 'As it is'],
  ],
  'apps templates remove': async (world) => [await newPageTemplate(world.tenant)],
};
