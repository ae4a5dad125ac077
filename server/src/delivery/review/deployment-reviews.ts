import { publicationDaysMax } from '@svc/contract/review.ts';
import { markReviewed } from '../../apps/record/app-status.ts';
import { findActingOwner, findAppRow } from '../../apps/record/find-app.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { daysAfter } from '../../core/values.ts';
import { findDeploymentInReview } from '../deployments/reviews.ts';
import { reviewNote } from '../deployments/rules.ts';
import { newScopes } from './data-scopes.ts';
import { endRequest } from './end-requests.ts';
import { notifyRequested } from './notifications.ts';
import { findOpenPublicationRow, insertPublicationRow, type PublicationRow } from './store.ts';

/** Replaces an open request, which refers to an earlier deployment. Caller must hold the app's row lock. */
export async function requestDeploymentReview(
  ctx: MutationCtx,
  { deploymentId, ...ref }: AppRef & { deploymentId: string },
): Promise<void> {
  const app = await findAppRow(ctx.db, ref.tenantId, ref.appId);
  const deployment = await findDeploymentInReview(ctx.db, ref);
  if (!app || app.visibility === 'private' || deployment?.id !== deploymentId)
    throw new Error('The deployment needs no review.');
  const open = await findOpenPublicationRow(ctx.db, ref);
  if (open)
    await endRequest(ctx, open, { status: 'superseded', reason: 'A newer deployment needs a review.' });
  const row: PublicationRow = {
    id: ctx.newId(),
    tenant_id: ref.tenantId,
    app_id: ref.appId,
    status: 'pending',
    visibility: app.visibility,
    visibility_before: app.visibility,
    pinned: 'built',
    deployment_id: deploymentId,
    release_id: null,
    digest: deployment.digest ?? '',
    data_scopes: app.data_scopes,
    data_scopes_before: app.approved_data_scopes,
    note: reviewNote(deployment),
    requested_by: await findActingOwner(ctx.db, ref, { requestedBy: deployment.created_by }),
    requested_at: ctx.now,
    expires_at: daysAfter(ctx.now, publicationDaysMax),
    decided_by: null,
    decided_at: null,
    reason: '',
  };
  await insertPublicationRow(ctx.db, row);
  await markReviewed(ctx, ref, 'pending');
  const { pinned, deployment_id, digest, visibility, note } = row;
  ctx.audit({
    action: 'publications.request',
    appId: app.id,
    target: { kind: 'publication_request', id: row.id, name: app.slug },
    before: null,
    after: { status: 'pending', visibility, pinned, deployment_id, digest, note, ...newScopes(row) },
  });
  await notifyRequested(ctx, row);
}
