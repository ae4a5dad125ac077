import * as shapes from '@svc/contract/grant-requests.shapes.ts';
import * as endpoints from '@svc/contract/grant-requests.ts';
import { type Route, routes } from '../../http/router.ts';
import {
  approveGrantRequest,
  getGrantRequest,
  listGrantRequests,
  listRequestOptions,
  listRequestPolicies,
  rejectGrantRequest,
  requestGrant,
  withdrawGrantRequest,
} from './requests.ts';

export const grantRequestRoutes: Route[] = routes(endpoints, shapes, {
  listGrantRequests: (ctx, { query }) => listGrantRequests(ctx, query),
  listRequestOptions,
  requestGrant: (ctx, { body }) => requestGrant(ctx, body),
  listRequestPolicies: (ctx, { params, query }) =>
    listRequestPolicies(ctx, { request: params.request, ...query }),
  getGrantRequest: (ctx, { params }) => getGrantRequest(ctx, params),
  approveGrantRequest: (ctx, { params, body }) =>
    approveGrantRequest(ctx, {
      request: params.request,
      reason: body?.reason ?? '',
      policies: body?.policy_ids ?? [],
    }),
  rejectGrantRequest: (ctx, { params, body }) =>
    rejectGrantRequest(ctx, { request: params.request, reason: body.reason }),
  withdrawGrantRequest: (ctx, { params }) => withdrawGrantRequest(ctx, params),
});
