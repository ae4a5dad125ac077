import * as shapes from '@svc/contract/static-sites.shapes.ts';
import * as endpoints from '@svc/contract/static-sites.ts';
import { type Route, route } from '../plumbing/route.ts';
import type { AppAtDomain } from './find-site-for.ts';
import type { VisitPlaces } from './site-target.ts';
import { startSiteAuth } from './start-site-auth.ts';

export const visitorRoutes = (parts: VisitPlaces & { appAtDomain: AppAtDomain }): Route[] => [
  route(endpoints.startSiteAuth, shapes.startSiteAuth, (ctx, { body }) => startSiteAuth(ctx, parts, body)),
];
