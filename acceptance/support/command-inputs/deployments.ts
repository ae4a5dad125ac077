import type { CommandLine } from '../command-inputs.ts';
import {
  begunDeployment,
  type DeployedApp,
  liveDeployment,
  newDeployedApp,
  slowSource,
  sourceFolder,
  staticSource,
} from '../deploying.ts';
import type { World } from '../world.ts';

type Inputs = (world: World) => Promise<string[] | CommandLine>;

const of = ({ id }: DeployedApp) => ['--app', id];
const newAppOf = (world: World) => newDeployedApp(world, world.people.A);

export const deploymentInputs: Readonly<Record<string, Inputs>> = {
  deploy: async (world) => [...of(await newAppOf(world)), '--from-dir', sourceFolder(staticSource())],
  'deployments list': async (world) => of((await withDeployment(world)).app),
  'deployments get': async (world) => (await withDeployment(world)).line,
  'deployments logs': async (world) => (await withDeployment(world)).line,
  'deployments cancel': async (world) => {
    const app = await newAppOf(world);
    return [await begunDeployment(app, slowSource()), ...of(app)];
  },
  'deployments rollback': async (world) => {
    const { app, id } = await withDeployment(world);
    await liveDeployment(app, staticSource());
    return [id, ...of(app)];
  },
  logs: async (world) => of(await newAppOf(world)),
  'env list': async (world) => of(await withVariable(world)),
  'env set': async (world) => ['GREETING=hello', 'MODE=fast', ...of(await newAppOf(world))],
  'env unset': async (world) => ['GREETING', ...of(await withVariable(world))],
};

async function withDeployment(world: World) {
  const app = await newAppOf(world);
  const id = await liveDeployment(app, staticSource());
  return { app, id, line: [id, ...of(app)] };
}

async function withVariable(world: World): Promise<DeployedApp> {
  const app = await newAppOf(world);
  const set = await app.owner.call('PATCH', `${app.base}/env`, { set: { GREETING: 'hello' } });
  if (set.status !== 200) throw new Error(`No variable was set: ${JSON.stringify(set.body)}`);
  return app;
}
