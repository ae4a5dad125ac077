import * as shapes from '@svc/contract/grants.shapes.ts';
import * as endpoints from '@svc/contract/grants.ts';
import { type Route, route, routes } from '../../http/router.ts';
import { revokeGrant } from './end-grants.ts';
import {
  checkAccess,
  createGrant,
  getGrant,
  getMyGrantTerms,
  listGrants,
  listMyGrants,
  replaceGrantScope,
  requireAdminOrSelf,
} from './grants.ts';

export const grantRoutes: Route[] = [
  ...routes(endpoints, shapes, {
    listMyGrants,
    getMyGrantTerms,
    listGrants: (ctx, { query }) => listGrants(ctx, query),
    createGrant: (ctx, { body }) => createGrant(ctx, body),
    getGrant: (ctx, { params }) => getGrant(ctx, { grantId: params.grantID }),
    replaceGrantScope: (ctx, { params, body }) =>
      replaceGrantScope(ctx, { grantId: params.grantID, scope: body }),
    revokeGrant: (ctx, { params, body }) =>
      revokeGrant(ctx, { grantId: params.grantID, reason: body?.reason ?? '' }),
  }),
  route(endpoints.checkAccess, shapes.checkAccess, (ctx, { body }) => checkAccess(ctx, body), {
    beforeReplay: async (ctx, { body }) => requireAdminOrSelf(ctx, body),
  }),
];
