import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import { type Route, route } from '../plumbing/route.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import { cancelDeployment } from './cancel-deployment.ts';
import { createDeployment, refuseMethod } from './create-deployment.ts';
import { getDeployment } from './get-deployment.ts';
import { listDeployments } from './list-deployments.ts';
import { rollbackDeployment } from './rollback-deployment.ts';
import { type Wanted, wantedOf } from './wanted-of.ts';

export const deploymentRoutes = ({
  runtime,
  ...places
}: SitePlaces & { runtime: Pick<Runtime, 'refuses' | 'kind'> }): Route[] => [
  route(endpoints.listDeployments, shapes.listDeployments, (ctx, { query }) =>
    listDeployments(ctx, query, places),
  ),
  route(endpoints.getDeployment, shapes.getDeployment, (ctx, { params }) =>
    getDeployment(ctx, { id: params.deployment }, places),
  ),
  route(
    endpoints.createDeployment,
    shapes.createDeployment,
    (ctx, _, wanted: Wanted) => createDeployment(ctx, wanted, places),
    {
      prepare: async (ctx, { body }, run) => {
        const wanted = wantedOf(body, run);
        await refuseMethod(ctx, runtime);
        return wanted;
      },
    },
  ),
  route(endpoints.cancelDeployment, shapes.cancelDeployment, (ctx, { params }) =>
    cancelDeployment(ctx, { id: params.deployment }, places),
  ),
  route(endpoints.rollbackDeployment, shapes.rollbackDeployment, (ctx, { params }) =>
    rollbackDeployment(ctx, { id: params.deployment }, { ...places, runtime }),
  ),
];
