import * as shapes from '@svc/contract/review.shapes.ts';
import * as endpoints from '@svc/contract/review.ts';
import type { OperatorDeps } from '../../core/mutation.ts';
import { type Route, route, routes } from '../../http/router.ts';
import {
  approvePublication,
  rejectPublication,
  requestPublication,
  withdrawPublication,
} from './decisions.ts';
import { endRequestIfOverdue } from './end-requests.ts';
import { getPublication, listAppPublications, listPublications } from './publications.ts';

export const reviewRoutes = (deps: OperatorDeps): Route[] => [
  ...routes(endpoints, shapes, {
    requestPublication: (ctx, { body }) => requestPublication(ctx, body),
    listPublicationsOfApp: (ctx, { query }) => listAppPublications(ctx, query),
    listPublications: (ctx, { query }) => listPublications(ctx, query),
    getPublication: (ctx, { params }) => getPublication(ctx, { id: params.request }),
    rejectPublication: (ctx, { params, body }) => rejectPublication(ctx, { id: params.request, ...body }),
    withdrawPublication: (ctx, { params }) => withdrawPublication(ctx, { id: params.request }),
  }),
  route(
    endpoints.approvePublication,
    shapes.approvePublication,
    (ctx, { params, body }) => approvePublication(ctx, { id: params.request, ...body }),
    {
      prepare: async ({ tenant }, { params }, { mode }) => {
        // Only for callers who can decide, and never in a preview, which changes nothing.
        if (mode === 'execute' && tenant.role === 'tenant_admin')
          await endRequestIfOverdue(deps, { tenantId: tenant.id, id: params.request });
      },
    },
  ),
];
