import * as shapes from '@svc/contract/grants.shapes.ts';
import * as endpoints from '@svc/contract/grants.ts';
import { type Route, route } from '../plumbing/route.ts';
import { checkAccess, refuseAboutOthers } from './check-access.ts';
import { createGrant } from './create-grant.ts';
import { getGrant } from './get-grant.ts';
import { getMyGrantTerms } from './get-my-grant-terms.ts';
import { listGrants } from './list-grants.ts';
import { listMyGrants } from './list-my-grants.ts';
import { replaceGrantScope } from './replace-grant-scope.ts';
import { revokeGrant } from './revoke-grant.ts';

export const grantRoutes: Route[] = [
  route(endpoints.listMyGrants, shapes.listMyGrants, (ctx) => listMyGrants(ctx)),
  route(endpoints.getMyGrantTerms, shapes.getMyGrantTerms, (ctx) => getMyGrantTerms(ctx)),
  route(endpoints.listGrants, shapes.listGrants, (ctx, { query }) => listGrants(ctx, query)),
  route(endpoints.createGrant, shapes.createGrant, (ctx, { body }) => createGrant(ctx, body)),
  route(endpoints.getGrant, shapes.getGrant, (ctx, { params }) => getGrant(ctx, { grantId: params.grantID })),
  route(endpoints.replaceGrantScope, shapes.replaceGrantScope, (ctx, { params, body }) =>
    replaceGrantScope(ctx, { grantId: params.grantID, scope: body }),
  ),
  route(endpoints.revokeGrant, shapes.revokeGrant, (ctx, { params, body }) =>
    revokeGrant(ctx, { grantId: params.grantID, reason: body?.reason ?? '' }),
  ),
  route(endpoints.checkAccess, shapes.checkAccess, (ctx, { body }) => checkAccess(ctx, body), {
    beforeReplay: async (ctx, { body }) => refuseAboutOthers(ctx, body),
  }),
];
