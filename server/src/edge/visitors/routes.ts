import * as shapes from '@svc/contract/static-sites.shapes.ts';
import * as endpoints from '@svc/contract/static-sites.ts';
import { type Route, routes } from '../../http/router.ts';
import { startSiteAuth } from './site-auth.ts';
import type { FindAppAtDomain, SiteOriginConfig } from './site-target.ts';

export const visitorRoutes = (deps: SiteOriginConfig & { findAppAtDomain: FindAppAtDomain }): Route[] =>
  routes(endpoints, shapes, {
    startSiteAuth: (ctx, { body }) => startSiteAuth(ctx, deps, body),
  });
