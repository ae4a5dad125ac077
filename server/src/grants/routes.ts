import * as shapes from '@svc/contract/grants.shapes.ts';
import * as endpoints from '@svc/contract/grants.ts';
import { type Route, tenantChange, tenantRead } from '../plumbing/route.ts';
import { checkAccess } from './check-access.ts';
import { createGrant } from './create-grant.ts';
import { getGrant } from './get-grant.ts';
import { listGrants } from './list-grants.ts';
import { listMyGrants } from './list-my-grants.ts';
import { replaceGrantScope } from './replace-grant-scope.ts';
import { revokeGrant } from './revoke-grant.ts';

export const grantRoutes: Route[] = [
  tenantRead(endpoints.listMyGrants, shapes.listMyGrants, (ctx) => listMyGrants(ctx)),
  tenantRead(endpoints.listGrants, shapes.listGrants, (ctx, { query }) => listGrants(ctx, query)),
  tenantChange(endpoints.createGrant, shapes.createGrant, (ctx, { body }) => createGrant(ctx, body)),
  tenantRead(endpoints.getGrant, shapes.getGrant, (ctx, { params }) =>
    getGrant(ctx, { grantId: params.grantID }),
  ),
  tenantChange(endpoints.replaceGrantScope, shapes.replaceGrantScope, (ctx, { params, body }) =>
    replaceGrantScope(ctx, { grantId: params.grantID, scope: body }),
  ),
  tenantChange(endpoints.revokeGrant, shapes.revokeGrant, (ctx, { params, body }) =>
    revokeGrant(ctx, { grantId: params.grantID, reason: body?.reason ?? '' }),
  ),
  tenantRead(endpoints.checkAccess, shapes.checkAccess, (ctx, { body }) => checkAccess(ctx, body)),
];
