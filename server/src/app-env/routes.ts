import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { type Route, route } from '../plumbing/route.ts';
import { changeEnv } from './change-env.ts';
import { listEnv } from './list-env.ts';
import type { EnvPlaces } from './platform-env.ts';

export const appEnvRoutes = (places: EnvPlaces): Route[] => [
  route(endpoints.listEnv, shapes.listEnv, (ctx) => listEnv(ctx, places)),
  route(endpoints.changeEnv, shapes.changeEnv, (ctx, { body }) => changeEnv(ctx, body, places)),
];
