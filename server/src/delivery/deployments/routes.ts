import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { type Route, route, routes } from '../../http/router.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { getTableDrift } from './apply-tables.ts';
import {
  cancelDeployment,
  createDeployment,
  getDeployment,
  listDeployments,
  requireSupportedMethod,
  restartApp,
  rollbackDeployment,
} from './deployments.ts';
import { type DeploymentRequest, deploymentRequest } from './instances.ts';
import { listInstances, scaleApp } from './processes.ts';

export const deploymentRoutes = ({
  runtime,
  ...urls
}: SiteUrls & { runtime: Pick<Runtime, 'refuses' | 'kind'> }): Route[] => [
  ...routes(endpoints, shapes, {
    listDeployments: (ctx, { query }) => listDeployments(ctx, query, urls),
    getDeployment: (ctx, { params }) => getDeployment(ctx, { id: params.deployment }, urls),
    cancelDeployment: (ctx, { params }) => cancelDeployment(ctx, { id: params.deployment }, urls),
    restartApp: (ctx) => restartApp(ctx, { ...urls, runtime }),
    getTableDrift: (ctx) => getTableDrift(ctx),
    listInstances: (ctx, { query }) => listInstances(ctx, query),
    scaleApp: (ctx, { body }) => scaleApp(ctx, body),
    rollbackDeployment: (ctx, { params }) =>
      rollbackDeployment(ctx, { id: params.deployment }, { ...urls, runtime }),
  }),
  route(
    endpoints.createDeployment,
    shapes.createDeployment,
    (ctx, _, request: DeploymentRequest) => createDeployment(ctx, request, urls),
    {
      prepare: async (ctx, { body }, run) => {
        const request = deploymentRequest(body, run);
        await requireSupportedMethod(ctx, runtime);
        return request;
      },
    },
  ),
];
