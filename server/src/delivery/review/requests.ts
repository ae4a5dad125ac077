import { publicationDaysMax } from '@svc/contract/review.ts';
import { loadAppNames } from '../../apps/app-names.ts';
import { findActingOwner, findAppRow, lockApp } from '../../apps/record/find-app.ts';
import { markReviewed, resetReviewStatus } from '../../apps/record/status-store.ts';
import type { AppRef, Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { PlanPart } from '../../core/events.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { daysAfter, isUuid } from '../../core/values.ts';
import { findLiveDeployment, findReleaseDeployment } from '../deployments/deployment-record.ts';
import { endReviewedDeployment, findDeploymentInReview } from '../deployments/reviews.ts';
import { reviewNote } from '../deployments/rules.ts';
import type { LiveTarget } from '../static-sites/live-events.ts';
import { findPointedReleases, type PointedRelease } from '../static-sites/releases.ts';
import { notifyOwners, notifyRequested, notifyRequester } from './notifications.ts';
import {
  closePublicationRow,
  findOpenPublicationRow,
  findPublicationRow,
  insertPublicationRow,
  listOverduePublications,
  type PublicationRow,
} from './publications.ts';
import { currentStatus, type Deployed, isOver, isStillDeployed, newScopes } from './rules.ts';

/** Caller must hold the app's row lock. `shown` is what became live. */
export async function supersedeOpenRequest(
  ctx: MutationCtx,
  ref: AppRef,
  { shown = null }: { shown?: LiveTarget | null } = {},
): Promise<PlanPart> {
  const open = await findOpenPublicationRow(ctx.db, ref);
  if (!open) return noPlanPart;
  if (!isReplacedBy(open, shown) && isStillDeployed(open, await findDeployed(ctx.db, ref))) return noPlanPart;
  ctx.warn('The pending publication request is superseded: it refers to what was deployed before.');
  return supersedeRequest(ctx, open);
}

function isReplacedBy(open: PublicationRow, shown: LiveTarget | null): boolean {
  if (shown === null) return false;
  if (shown.kind === 'deployment') return shown.id !== open.deployment_id;
  return open.release_id !== null && shown.id !== open.release_id;
}

function supersedeRequest(ctx: MutationCtx, open: PublicationRow): Promise<PlanPart> {
  return endRequest(ctx, open, {
    status: 'superseded',
    reason: 'Another version is deployed now.',
  });
}

const reasons = {
  narrowed: 'The app was made less visible.',
  archived: 'The app was archived.',
  deleted: 'The app was deleted.',
} as const;

/** Caller must hold the app's row lock. */
export async function withdrawOpenRequest(
  ctx: MutationCtx,
  ref: AppRef,
  { why }: { why: keyof typeof reasons },
): Promise<PlanPart> {
  const open = await findOpenPublicationRow(ctx.db, ref);
  if (!open) return noPlanPart;
  ctx.warn('The pending publication request is withdrawn.');
  return endRequest(ctx, open, { status: 'withdrawn', reason: reasons[why] });
}

/** Caller must hold the app's row lock. */
export async function endOverdueRequest(ctx: MutationCtx, open: PublicationRow): Promise<void> {
  const isExpired = currentStatus(open, ctx.now) === 'expired';
  const ended = isExpired
    ? await endRequest(ctx, open, { status: 'expired', reason: 'Nobody decided in time.' })
    : await supersedeRequest(ctx, open);
  const name = (await loadAppNames(ctx.db, open.tenant_id, [open.app_id])).get(open.app_id)?.slug ?? '';
  ctx.audit({
    action: isExpired ? 'publications.expire' : 'publications.supersede',
    appId: open.app_id,
    target: { kind: 'publication_request', id: open.id, name },
    before: { status: ended.before.publication_request },
    after: { status: ended.after.publication_request },
  });
}

/** A separate transaction: the request ends even though the caller's approval is rejected and rolled back. */
export async function endRequestIfOverdue(
  deps: OperatorDeps,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<void> {
  const change = { name: 'publications.endOverdue', auditTenantId: tenantId };
  await runAsOperator(deps, change, async (ctx) => {
    const found = await findPublicationRow(ctx.db, tenantId, id);
    if (!found || !(await lockApp(ctx.db, tenantId, found.app_id, 'any'))) return;
    const open = await findPublicationRow(ctx.db, tenantId, id);
    if (open?.status !== 'pending') return;
    if (isOver(open, ctx.now, await findDeployed(ctx.db, { tenantId, appId: open.app_id })))
      await endOverdueRequest(ctx, open);
  });
}

export async function expirePublicationRequests(deps: OperatorDeps): Promise<void> {
  for (const { id, tenant_id: tenantId } of await listOverduePublications(deps.db)) {
    await endRequestIfOverdue(deps, { tenantId, id }).catch((error: unknown) =>
      deps.log.error({ err: error, tenant: tenantId }, 'publication request not expired'),
    );
  }
}

/** Caller must hold the app's row lock. */
export async function endRequest(
  ctx: MutationCtx,
  request: PublicationRow,
  { status, reason }: { status: 'withdrawn' | 'superseded' | 'expired'; reason: string },
): Promise<PlanPart> {
  const isByUser = status === 'withdrawn' && isUuid(ctx.caller.userId);
  const set = { status, reason, decided_by: isByUser ? ctx.caller.userId : null, decided_at: ctx.now };
  const ended = await closePublicationRow(ctx.db, request, set);
  await resetReviewStatus(ctx, { tenantId: request.tenant_id, appId: request.app_id });
  await endWaitingDeployment(ctx, request, status === 'superseded' ? 'skipped' : 'canceled');
  if (status === 'withdrawn') await notifyRequester(ctx, ended);
  else await notifyOwners(ctx, { ...ended, status });
  return { before: { publication_request: 'pending' }, after: { publication_request: status } };
}

/** A deployment that waited for a review ends with it. Caller must hold the app's row lock. */
export async function endWaitingDeployment(
  ctx: MutationCtx,
  { pinned, deployment_id, tenant_id: tenantId, app_id: appId }: PublicationRow,
  state: 'canceled' | 'skipped',
): Promise<void> {
  if (pinned !== 'built' || deployment_id === null) return;
  const slug = (await loadAppNames(ctx.db, tenantId, [appId])).get(appId)?.slug ?? '';
  await endReviewedDeployment(ctx, { tenantId, appId, slug }, { id: deployment_id, state });
}

const noPlanPart: PlanPart = { before: {}, after: {} };

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

/** A running deployment takes precedence over a release, as at the edge. Caller must hold the app's row lock. */
export async function findDeployed(db: Db, ref: AppRef): Promise<Deployed> {
  const running = await findLiveDeployment(db, ref);
  const waiting = await findDeploymentInReview(db, ref);
  const built = waiting ? pinOfDeployment(waiting) : null;
  if (running && running.method !== 'static') return { live: pinOfDeployment(running), staged: null, built };
  const { active, staged } = await findPointedReleases(db, ref);
  return {
    live: await pinOfRelease(db, ref, active),
    staged: await pinOfRelease(db, ref, staged),
    built,
  };
}

function pinOfDeployment({ id, digest }: { id: string; digest: string | null }) {
  return { deployment_id: id, release_id: null, digest: digest ?? '' };
}

async function pinOfRelease(db: Db, ref: AppRef, release: PointedRelease | null): Promise<Deployed['live']> {
  if (release === null) return null;
  const deployment = await findReleaseDeployment(db, ref, release.id);
  return { deployment_id: deployment?.id ?? null, release_id: release.id, digest: release.digest };
}

export async function isUnderReview({ db, now }: Pick<Ctx, 'db' | 'now'>, ref: AppRef, releaseId: string) {
  const open = await findOpenPublicationRow(db, ref);
  return open?.release_id === releaseId && currentStatus(open, now) === 'pending';
}
