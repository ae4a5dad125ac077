import {
  begunDeployment,
  liveDeployment,
  newDeployedApp,
  type SourceFiles,
  slowSource,
  staticSource,
  uploadedSource,
} from '../deploying.ts';
import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

type Reach = (world: World) => Promise<Reached>;

const inApp: Reach = async (world) => (await newAppOf(world)).reached;

const begun =
  (files: () => SourceFiles): Reach =>
  async (world) => {
    const { app, reached } = await newAppOf(world);
    return { params: { ...reached.params, deployment: await begunDeployment(app, files()) } };
  };

/** Deployments, their logs, source and variables, by the ids of the OpenAPI document. */
export const deploymentReach: Readonly<Record<string, Reach>> = {
  'deployments.list': inApp,
  'deployments.get': begun(staticSource),
  'deployments.logs': begun(staticSource),
  'deployments.create': async (world) => {
    const { app, reached } = await newAppOf(world);
    return { ...reached, body: { upload_id: await uploadedSource(app, staticSource()) } };
  },
  'deployments.grantUpload': inApp,
  'deployments.cancel': begun(slowSource),
  'deployments.rollback': async (world) => {
    const { app, reached } = await newAppOf(world);
    const first = await liveDeployment(app, staticSource());
    await liveDeployment(app, staticSource());
    return { params: { ...reached.params, deployment: first } };
  },
  'apps.logs': inApp,
  'env.list': inApp,
  'env.change': async (world) => ({ ...(await inApp(world)), body: { set: { GREETING: 'hello' } } }),
};

async function newAppOf(world: World) {
  const app = await newDeployedApp(world, world.people.O);
  return { app, reached: { params: { tenantID: world.tenant.id, app: app.id } } };
}
