import * as shapes from '@svc/contract/review.shapes.ts';
import * as endpoints from '@svc/contract/review.ts';
import type { TenantAccess } from '../../core/context.ts';
import type { OperatorDeps } from '../../core/mutation.ts';
import { type Route, type RunMode, route, routes } from '../../http/router.ts';
import type { LogDeps } from '../deployments/deployment-logs.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import {
  approvePublication,
  rejectPublication,
  requestPublication,
  withdrawPublication,
} from './decisions.ts';
import { endRequestIfOverdue } from './end-requests.ts';
import { getPublication, listAppPublications, listPublications } from './publications.ts';
import {
  approveReview,
  getReview,
  listAppReviews,
  listReviews,
  readReviewLog,
  rejectReview,
  withdrawReview,
} from './reviews.ts';

export const reviewRoutes = (deps: OperatorDeps & SiteUrls & LogDeps): Route[] => [
  ...routes(endpoints, shapes, {
    requestPublication: (ctx, { body }) => requestPublication(ctx, body),
    listPublicationsOfApp: (ctx, { query }) => listAppPublications(ctx, query),
    listPublications: (ctx, { query }) => listPublications(ctx, query),
    getPublication: (ctx, { params }) => getPublication(ctx, { id: params.request }),
    rejectPublication: (ctx, { params, body }) => rejectPublication(ctx, { id: params.request, ...body }),
    withdrawPublication: (ctx, { params }) => withdrawPublication(ctx, { id: params.request }),
    listReviews: (ctx, { query }) => listReviews(ctx, query, deps),
    listReviewsOfApp: (ctx, { query }) => listAppReviews(ctx, query, deps),
    getReview: (ctx, { params }) => getReview(ctx, { id: params.request }, deps),
    readReviewLog: (ctx, { params, query }) => readReviewLog(ctx, { id: params.request, query }, deps),
    rejectReview: (ctx, { params, body }) => rejectReview(ctx, { id: params.request, urls: deps, ...body }),
    withdrawReview: (ctx, { params }) => withdrawReview(ctx, { id: params.request, urls: deps }),
  }),
  route(
    endpoints.approvePublication,
    shapes.approvePublication,
    (ctx, { params, body }) => approvePublication(ctx, { id: params.request, ...body }),
    { prepare: ({ tenant }, { params }, run) => endIfOverdue(deps, tenant, { id: params.request, ...run }) },
  ),
  route(
    endpoints.approveReview,
    shapes.approveReview,
    (ctx, { params, body }) => approveReview(ctx, { id: params.request, urls: deps, ...body }),
    { prepare: ({ tenant }, { params }, run) => endIfOverdue(deps, tenant, { id: params.request, ...run }) },
  ),
];

/** Only for callers who can decide, and never in a preview, which changes nothing. */
async function endIfOverdue(
  deps: OperatorDeps,
  tenant: TenantAccess,
  { id, mode }: { id: string; mode: RunMode },
): Promise<void> {
  if (mode === 'execute' && tenant.role === 'tenant_admin')
    await endRequestIfOverdue(deps, { tenantId: tenant.id, id });
}
