import { begunDeployment, newWaitingApp, staticSource, uploadedSource } from '../deploying.ts';
import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

type Reach = (world: World) => Promise<Reached>;

const inApp: Reach = async (world) => (await newAppOf(world)).reached;

const waiting: Reach = async (world) => {
  const { app, reached } = await newAppOf(world);
  return { params: { ...reached.params, deployment: await begunDeployment(app, staticSource()) } };
};

const earlier: Reach = async (world) => {
  const { app, reached } = await newAppOf(world);
  return { params: { ...reached.params, deployment: app.earlier } };
};

/** Deployments, their logs, source and variables, by the ids of the OpenAPI document. */
export const deploymentReach: Readonly<Record<string, Reach>> = {
  'deployments.list': inApp,
  'deployments.get': earlier,
  'deployments.logs': earlier,
  'deployments.create': async (world) => {
    const { app, reached } = await newAppOf(world);
    return { ...reached, body: { upload_id: await uploadedSource(app, staticSource()) } };
  },
  'deployments.grantUpload': inApp,
  'deployments.cancel': waiting,
  'deployments.rollback': earlier,
  'apps.logs': inApp,
  'env.list': inApp,
  'env.change': async (world) => ({ ...(await inApp(world)), body: { set: { GREETING: 'hello' } } }),
};

async function newAppOf(world: World) {
  const app = await newWaitingApp(world, world.people.O);
  return { app, reached: { params: { tenantID: world.tenant.id, app: app.id } } };
}
