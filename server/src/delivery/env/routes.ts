import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { type Route, routes } from '../../http/router.ts';
import { changeEnv, type EnvDeps, listEnv } from './env.ts';

export const appEnvRoutes = (urls: EnvDeps): Route[] =>
  routes(endpoints, shapes, {
    listEnv: (ctx, { query }) => listEnv(ctx, query, urls),
    changeEnv: (ctx, { body }) => changeEnv(ctx, body, urls),
  });
