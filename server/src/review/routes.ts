import * as shapes from '@svc/contract/review.shapes.ts';
import * as endpoints from '@svc/contract/review.ts';
import type { OperatorParts } from '../plumbing/operator.ts';
import { type Route, route } from '../plumbing/route.ts';
import { approvePublication } from './approve-publication.ts';
import { endIfOverdue } from './end-overdue.ts';
import { getPublication } from './get-publication.ts';
import { listPublications, listPublicationsOfApp } from './list-publications.ts';
import { rejectPublication } from './reject-publication.ts';
import { requestPublication } from './request-publication.ts';
import { withdrawPublication } from './withdraw-publication.ts';

export const reviewRoutes = (parts: OperatorParts): Route[] => [
  route(endpoints.requestPublication, shapes.requestPublication, (ctx, { body }) =>
    requestPublication(ctx, body),
  ),
  route(endpoints.listPublicationsOfApp, shapes.listPublicationsOfApp, (ctx, { query }) =>
    listPublicationsOfApp(ctx, query),
  ),
  route(endpoints.listPublications, shapes.listPublications, (ctx, { query }) =>
    listPublications(ctx, query),
  ),
  route(endpoints.getPublication, shapes.getPublication, (ctx, { params }) =>
    getPublication(ctx, { id: params.request }),
  ),
  route(
    endpoints.approvePublication,
    shapes.approvePublication,
    (ctx, { params, body }) => approvePublication(ctx, { id: params.request, ...body }),
    {
      prepare: async ({ tenant }, { params }, { mode }) => {
        // Only for who could decide, and never for a preview, which changes nothing.
        if (mode === 'execute' && tenant.role === 'tenant_admin')
          await endIfOverdue(parts, { tenantId: tenant.id, id: params.request });
      },
    },
  ),
  route(endpoints.rejectPublication, shapes.rejectPublication, (ctx, { params, body }) =>
    rejectPublication(ctx, { id: params.request, ...body }),
  ),
  route(endpoints.withdrawPublication, shapes.withdrawPublication, (ctx, { params }) =>
    withdrawPublication(ctx, { id: params.request }),
  ),
];
