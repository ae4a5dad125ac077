import { appThatIs, type LifeState } from '../reach/app-life.ts';
import type { World } from '../world.ts';

/** An app of the admin's own, who runs the commands. */
const ofAdmin = (state: LifeState) => async (world: World) => [await appThatIs(world, state, world.people.A)];

export const appLifeInputs: Readonly<Record<string, (world: World) => Promise<string[]>>> = {
  'apps archive': ofAdmin('active'),
  'apps reactivate': ofAdmin('archived'),
  'apps suspend': ofAdmin('running'),
  'apps resume': ofAdmin('suspended'),
  'apps delete': ofAdmin('active'),
  'apps restore': ofAdmin('deleted'),
  'apps purge': ofAdmin('deleted'),
};
