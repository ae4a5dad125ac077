import * as shapes from '@svc/contract/access-requests.shapes.ts';
import * as endpoints from '@svc/contract/access-requests.ts';
import { type Route, routes } from '../../http/router.ts';
import {
  acceptAccessRequest,
  listAccessRequests,
  refuseAccessRequest,
  requestAccess,
} from './access-requests.ts';

export const accessRequestRoutes: Route[] = routes(endpoints, shapes, {
  requestAccess: (ctx, { body }) => requestAccess(ctx, body),
  listAccessRequests: (ctx, { query }) => listAccessRequests(ctx, query),
  acceptAccessRequest: (ctx, { params }) => acceptAccessRequest(ctx, { id: params.request }),
  refuseAccessRequest: (ctx, { params }) => refuseAccessRequest(ctx, { id: params.request }),
});
