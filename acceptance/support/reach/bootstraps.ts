import type { Letter } from '../document.ts';
import { newPageTemplate } from '../git-repos.ts';
import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

export const bootstrapReach: Readonly<
  Record<string, (world: World, letter: Letter) => Promise<Reached> | Reached>
> = {
  'bootstraps.start': async (world) => ({
    params: { tenantID: world.tenant.id },
    body: { template: await templateOf(world), slug: newSlug() },
  }),
  'bootstraps.get': async (world, letter) => {
    // Who has no relation to an app sees the runs that they started.
    const run = await newRun(world, letter === 'M' ? world.people.M : world.people.O);
    if (letter === 'C') {
      const path = `${world.tenant.base}/apps/${run.app_id}/co-owners`;
      await world.as.O('POST', path, { user_id: world.people.C.id });
    }
    return { params: { tenantID: world.tenant.id, run: run.id } };
  },
  'bootstraps.cancel': async (world, letter) => {
    const { id } = await newRun(world, world.ownerFor(letter));
    return { params: { tenantID: world.tenant.id, run: id } };
  },
  'apps.fork': async (world) => ({
    params: { tenantID: world.tenant.id },
    body: { source: world.app.id, slug: newSlug(), template: await templateOf(world) },
  }),
};

/** A run that has just been started. */
export async function newRun(
  world: World,
  by: Person,
): Promise<{ id: string; app_id: string; slug: string }> {
  const body = { template: await templateOf(world), slug: newSlug() };
  const answer = await by.call('POST', `${world.tenant.base}/bootstraps`, body);
  if (answer.status !== 201) throw new Error(`No run was started: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const newSlug = () => `b-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;

const templates = new WeakMap<World, Promise<string>>();

/** One per world: its repository takes a while to make. */
export function templateOf(world: World): Promise<string> {
  const known = templates.get(world) ?? newPageTemplate(world.tenant);
  templates.set(world, known);
  return known;
}
