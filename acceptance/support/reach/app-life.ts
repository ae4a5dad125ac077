import { setApp } from '../app-runtime.ts';
import type { Letter } from '../document.ts';
import type { Call, Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

export type LifeState = 'active' | 'running' | 'suspended' | 'archived' | 'deleted';

/** An app of somebody's, with C as co-owner, in a state. */
export async function appThatIs(world: World, state: LifeState, owner: Person): Promise<string> {
  const { id } = await newApp(world.tenant, { owner, coOwner: world.people.C });
  const path = `${world.tenant.base}/apps/${id}`;
  if (state === 'running' || state === 'suspended') {
    await setApp(world.tenant.server, id, { runtime: state, isDeployed: true });
  }
  if (state === 'archived') await succeed(owner.call, 'POST', `${path}/archive`);
  if (state === 'deleted') await succeed(owner.call, 'DELETE', path);
  return id;
}

async function succeed(call: Call, method: string, path: string): Promise<void> {
  const { status, body } = await call(method, path);
  if (status !== 200) throw new Error(`Preparing it answered ${status}: ${JSON.stringify(body)}`);
}

const inApp = async (world: World, state: LifeState): Promise<Reached> => ({
  params: { tenantID: world.tenant.id, app: await appThatIs(world, state, world.people.O) },
});
/** To a co-owner a deleted app is not there: what they may not do is seen at one that is. */
const ended = (world: World, letter: Letter) => inApp(world, letter === 'C' ? 'active' : 'deleted');

/** The life of an app, by the ids of the OpenAPI document. */
export const appLifeReach: Readonly<Record<string, (world: World, letter: Letter) => Promise<Reached>>> = {
  'apps.archive': (world) => inApp(world, 'active'),
  'apps.reactivate': (world) => inApp(world, 'archived'),
  'apps.suspend': (world) => inApp(world, 'running'),
  'apps.resume': (world) => inApp(world, 'suspended'),
  'apps.delete': (world) => inApp(world, 'active'),
  'apps.restore': ended,
  'apps.purge': ended,
};
