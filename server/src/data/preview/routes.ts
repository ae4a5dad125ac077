import * as shapes from '@svc/contract/access-preview.shapes.ts';
import * as endpoints from '@svc/contract/access-preview.ts';
import type { AccessLog } from '../../access/log/access-log.ts';
import { type Route, routes } from '../../http/router.ts';
import { previewAccess } from './preview.ts';
import type { PreviewDeps } from './resolve.ts';

export const previewRoutes = (deps: PreviewDeps & { accessLog: AccessLog }): Route[] =>
  routes(endpoints, shapes, {
    previewAccess: (ctx, { body }) => previewAccess(ctx, body, deps),
  });
