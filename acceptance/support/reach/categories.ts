import { newPageTemplate, pageRepository } from '../git-repos.ts';
import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

/** How categories, and what an app can be made with, are reached. */
export const categoryReach: Readonly<Record<string, (world: World) => Promise<Reached> | Reached>> = {
  'categories.list': inTenant,
  'categories.create': (world) => ({ ...inTenant(world), body: category() }),
  'categories.get': inCategory,
  'categories.update': async (world) => ({
    ...(await inCategory(world)),
    body: { description: 'changed', display_order: 3 },
  }),
  'categories.delete': inCategory,
  'resourcePresets.list': inTenant,
  'templates.list': inTenant,
  'templates.create': async (world) => ({
    ...inTenant(world),
    body: { repo: await pageRepository(world.tenant, world.people.A), name: 'A page' },
  }),
  'templates.delete': async (world) => ({
    params: { tenantID: world.tenant.id, template: await newPageTemplate(world.tenant) },
  }),
};

export async function newCategory({ as, tenant }: World): Promise<{ id: string; slug: string }> {
  const { status, body } = await as.A('POST', `${tenant.base}/categories`, category());
  if (status !== 201) throw new Error(`A category could not be made: ${JSON.stringify(body)}`);
  return body;
}

function inTenant({ tenant }: World): Reached {
  return { params: { tenantID: tenant.id } };
}

async function inCategory(world: World): Promise<Reached> {
  return { params: { tenantID: world.tenant.id, categoryID: (await newCategory(world)).id } };
}

function category() {
  return { name: `category-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}` };
}
