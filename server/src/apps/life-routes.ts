import * as shapes from '@svc/contract/app-life.shapes.ts';
import * as endpoints from '@svc/contract/app-life.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import { type Route, route } from '../plumbing/route.ts';
import { archiveApp } from './archive-app.ts';
import { deleteApp } from './delete-app.ts';
import { purgeApp } from './purge-app.ts';
import { reactivateApp } from './reactivate-app.ts';
import { restoreApp } from './restore-app.ts';
import { resumeApp } from './resume-app.ts';
import { suspendApp } from './suspend-app.ts';

export const appLifeRoutes = ({ runtime }: { runtime: Pick<Runtime, 'kind'> }): Route[] => [
  route(endpoints.archiveApp, shapes.archiveApp, (ctx) => archiveApp(ctx)),
  route(endpoints.reactivateApp, shapes.reactivateApp, (ctx) => reactivateApp(ctx)),
  route(endpoints.suspendApp, shapes.suspendApp, (ctx) => suspendApp(ctx)),
  route(endpoints.resumeApp, shapes.resumeApp, (ctx) => resumeApp(ctx, runtime)),
  route(endpoints.deleteApp, shapes.deleteApp, (ctx) => deleteApp(ctx)),
  route(endpoints.restoreApp, shapes.restoreApp, (ctx) => restoreApp(ctx)),
  route(endpoints.purgeApp, shapes.purgeApp, (ctx) => purgeApp(ctx)),
];
