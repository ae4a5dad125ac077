import {
  begunDeployment,
  type DeployedApp,
  newWaitingApp,
  sourceFolder,
  staticSource,
} from '../deploying.ts';
import type { World } from '../world.ts';

type Inputs = (world: World) => Promise<string[]>;

const of = ({ id }: DeployedApp) => ['--app', id];
const newAppOf = (world: World) => newWaitingApp(world, world.people.A);

export const deploymentInputs: Readonly<Record<string, Inputs>> = {
  // Not waited for: what is deployed here stands in line for ever.
  deploy: async (world) => [
    ...[...of(await newAppOf(world)), '--from-dir', sourceFolder(staticSource()), '--detach'],
  ],
  'deployments list': async (world) => of(await newAppOf(world)),
  'deployments get': (world) => withEarlier(world),
  'deployments logs': (world) => withEarlier(world),
  'deployments cancel': async (world) => {
    const app = await newAppOf(world);
    return [await begunDeployment(app, staticSource()), ...of(app)];
  },
  'deployments rollback': async (world) => [...(await withEarlier(world)), '--detach'],
  logs: async (world) => of(await newAppOf(world)),
  'env list': async (world) => of(await withVariable(world)),
  'env set': async (world) => ['GREETING=hello', 'MODE=fast', ...of(await newAppOf(world))],
  'env unset': async (world) => ['GREETING', ...of(await withVariable(world))],
};

async function withEarlier(world: World): Promise<string[]> {
  const app = await newAppOf(world);
  return [app.earlier, ...of(app)];
}

async function withVariable(world: World): Promise<DeployedApp> {
  const app = await newAppOf(world);
  const set = await app.owner.call('PATCH', `${app.base}/env`, { set: { GREETING: 'hello' } });
  if (set.status !== 200) throw new Error(`No variable was set: ${JSON.stringify(set.body)}`);
  return app;
}
