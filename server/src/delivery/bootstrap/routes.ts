import * as shapes from '@svc/contract/bootstrap.shapes.ts';
import * as endpoints from '@svc/contract/bootstrap.ts';
import { type Route, route, routes } from '../../http/router.ts';
import type { BootstrapDeps } from './deps.ts';
import { forkApp, type PreparedFork, prepareFork } from './fork-app.ts';
import { cancelBootstrap, getBootstrap } from './runs.ts';
import {
  type Deferred,
  deferFailure,
  type PreparedBootstrap,
  prepareBootstrap,
  startBootstrap,
  unwrapDeferred,
} from './start-run.ts';

export const bootstrapRoutes = (deps: BootstrapDeps): Route[] => [
  ...routes(endpoints, shapes, {
    getBootstrap: (ctx, { params }) => getBootstrap(ctx, params, deps),
    cancelBootstrap: (ctx, { params }) => cancelBootstrap(ctx, params, deps),
  }),
  route(
    endpoints.startBootstrap,
    shapes.startBootstrap,
    (ctx, { body }, prepared: Deferred<PreparedBootstrap>) =>
      startBootstrap(ctx, body, unwrapDeferred(prepared), deps),
    { prepare: (ctx, { body }, { mode }) => deferFailure(prepareBootstrap(ctx, body, deps, mode)) },
  ),
  route(
    endpoints.forkApp,
    shapes.forkApp,
    (ctx, { body }, prepared: Deferred<PreparedFork>) => forkApp(ctx, body, unwrapDeferred(prepared), deps),
    { prepare: (ctx, { body }, { mode }) => deferFailure(prepareFork(ctx, body, deps, mode)) },
  ),
];
