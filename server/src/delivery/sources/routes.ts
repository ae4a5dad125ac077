import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { type Route, routes } from '../../http/router.ts';
import { grantSourceUpload, type SourceDeps } from './sources.ts';

export const sourceRoutes = (deps: SourceDeps): Route[] =>
  routes(endpoints, shapes, {
    grantSourceUpload: (ctx) => grantSourceUpload(ctx, deps),
  });
