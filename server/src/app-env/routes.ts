import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { type Route, route } from '../plumbing/route.ts';
import { changeEnv } from './change-env.ts';
import { type ListedPlaces, listEnv } from './list-env.ts';

export const appEnvRoutes = (places: ListedPlaces): Route[] => [
  route(endpoints.listEnv, shapes.listEnv, (ctx, { query }) => listEnv(ctx, query, places)),
  route(endpoints.changeEnv, shapes.changeEnv, (ctx, { body }) => changeEnv(ctx, body, places)),
];
