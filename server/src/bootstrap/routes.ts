import * as shapes from '@svc/contract/bootstrap.shapes.ts';
import * as endpoints from '@svc/contract/bootstrap.ts';
import { type Route, route } from '../plumbing/route.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { cancelBootstrap } from './cancel-bootstrap.ts';
import { forkApp, type PreparedFork, prepareFork } from './fork-app.ts';
import { getBootstrap } from './get-bootstrap.ts';
import { type Held, held, opened } from './held-refusal.ts';
import { type PreparedBootstrap, prepareBootstrap, startBootstrap } from './start-bootstrap.ts';

export const bootstrapRoutes = (parts: BootstrapParts): Route[] => [
  route(
    endpoints.startBootstrap,
    shapes.startBootstrap,
    (ctx, { body }, prepared: Held<PreparedBootstrap>) => startBootstrap(ctx, body, opened(prepared), parts),
    { prepare: (ctx, { body }, { mode }) => held(prepareBootstrap(ctx, body, parts, mode)) },
  ),
  route(endpoints.getBootstrap, shapes.getBootstrap, (ctx, { params }) => getBootstrap(ctx, params, parts)),
  route(endpoints.cancelBootstrap, shapes.cancelBootstrap, (ctx, { params }) =>
    cancelBootstrap(ctx, params, parts),
  ),
  route(
    endpoints.forkApp,
    shapes.forkApp,
    (ctx, { body }, prepared: Held<PreparedFork>) => forkApp(ctx, body, opened(prepared), parts),
    { prepare: (ctx, { body }, { mode }) => held(prepareFork(ctx, body, parts, mode)) },
  ),
];
