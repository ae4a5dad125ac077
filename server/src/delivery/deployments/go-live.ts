import { findAppRow } from '../../apps/record/find-app.ts';
import { isWider } from '../../apps/record/rules.ts';
import { markDeployed, markResumed, setLiveDeployment } from '../../apps/record/status-store.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { Failure } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import {
  type FolderReleaseDeps,
  releaseFromFolder,
  runAsOwner,
} from '../static-sites/deployment-releases.ts';
import { publishLiveChange } from '../static-sites/live-events.ts';
import { submitForReview } from '../static-sites/promotions.ts';
import { rollbackRelease } from '../static-sites/release-moves.ts';
import { findReleaseRow } from '../static-sites/release-store.ts';
import { releaseDigest } from '../static-sites/rules.ts';
import { applyTablesOf } from './apply-tables.ts';
import { expireArtifacts } from './artifacts.ts';
import { DeploymentFailure } from './claimed-work.ts';
import { deleteScales, resetActivity } from './instances-store.ts';
import { type DeploymentSites, deploymentName, replacedScales, reviewNote, workTag } from './rules.ts';
import {
  type DeploymentRow,
  findDeploymentOfRelease,
  findLiveDeploymentRow,
  toAppRef,
  updateDeploymentRow,
} from './store.ts';

/** Caller must hold the app's row lock. */
export async function goLive(
  ctx: MutationCtx,
  { slug, row, releaseId = row.release_id }: { slug: string; row: DeploymentRow; releaseId?: string | null },
): Promise<void> {
  const appRef = toAppRef(row);
  const before = await retireLive(ctx, appRef, { except: row.id });
  const app = await findAppRow(ctx.db, appRef.tenantId, appRef.appId);
  await updateDeploymentRow(ctx.db, row, {
    state: 'live',
    step: null,
    is_kept: true,
    live_at: ctx.now,
    ended_at: ctx.now,
    lease_holder: null,
    lease_until: null,
    release_id: releaseId,
    reviewed_visibility: widest(row.reviewed_visibility, app?.visibility ?? null),
    table_changes: row.table_changes && { ...row.table_changes, undo: [] },
  });
  await setLiveDeployment(ctx, appRef, row.id);
  await markDeployed(ctx, appRef);
  if (row.kind === 'resume') await markResumed(ctx, appRef);
  await deleteScales(ctx.db, appRef, replacedScales(row));
  // A site that others see became active by a review.
  const isReviewed = row.method === 'static' && row.state === 'built' && app?.visibility !== 'private';
  await applyTablesOf(ctx, row, { isReviewed });
  await resetActivity(ctx.db, row.app_id, { canSleep: row.method !== 'static' && !!row.start_with?.sleepMs });
  await expireArtifacts(ctx, appRef);
  const publication = await publishLiveChange(ctx, appRef, {
    kind: releaseId === null ? 'deployment' : 'release',
    id: releaseId ?? row.id,
  });
  ctx.audit({
    action: 'deployments.live',
    appId: row.app_id,
    target: { kind: 'deployment', id: row.id, name: deploymentName(slug, row) },
    before: { state: row.state, live: before?.id ?? null, ...publication.before },
    after: { state: 'live', live: row.id, digest: row.digest, ...publication.after },
  });
  ctx.invalidate(appTag(row.app_id));
  ctx.invalidate(workTag);
  ctx.invalidate(`logs:${row.id}`);
}

type ReviewedVisibility = DeploymentRow['reviewed_visibility'];

function widest(one: ReviewedVisibility, other: ReviewedVisibility): ReviewedVisibility {
  if (one === null || other === null) return one ?? other;
  return isWider(one, other) ? other : one;
}

async function retireLive(ctx: MutationCtx, appRef: AppRef, { except }: { except?: string } = {}) {
  const live = await findLiveDeploymentRow(ctx.db, appRef);
  if (!live || live.id === except) return undefined;
  await updateDeploymentRow(ctx.db, live, { state: 'superseded' });
  return live;
}

/** A release without a deployment leaves the app with no live one. Caller must hold the app's row lock. */
export async function releaseBecameActive(
  ctx: MutationCtx,
  { releaseId, ...appRef }: AppRef & { releaseId: string },
): Promise<void> {
  const app = await findAppRow(ctx.db, appRef.tenantId, appRef.appId);
  if (!app) return;
  const row = await findDeploymentOfRelease(ctx.db, appRef, releaseId);
  if (row?.state === 'live') return;
  if (row) return goLive(ctx, { slug: app.slug, row, releaseId });
  if ((await findLiveDeploymentRow(ctx.db, appRef))?.method !== 'static') return;
  await retireLive(ctx, appRef);
  await setLiveDeployment(ctx, appRef, null);
}

export function deploymentSites(deps: FolderReleaseDeps): DeploymentSites {
  return {
    release: (row, { dir, config }, signal) =>
      releaseFromFolder(deps, {
        ...toAppRef(row),
        deploymentId: row.id,
        createdBy: row.created_by,
        dir,
        signal,
        config: config ?? {},
      }),
    submit: (row, releaseId) =>
      runAsOwner(deps, { ...toAppRef(row), createdBy: row.created_by }, 'releases.requestPromotion', (ctx) =>
        submitForReview(ctx, {
          id: releaseId,
          note: reviewNote(row),
          unless: row.source === 'artifact' ? 'never' : 'newer staged',
        }),
      ),
    async reactivate(row, releaseId) {
      const appRef = toAppRef(row);
      const release = await findReleaseRow(deps.db, appRef, releaseId);
      if (!release) throw releaseError('The release is no longer stored.');
      const activated = { releaseId, digest: releaseDigest(release) };
      try {
        await runAsOwner(deps, { ...appRef, createdBy: row.created_by }, 'releases.rollback', (ctx) =>
          rollbackRelease(ctx, { id: releaseId }, deps),
        );
        return { ...activated, outcome: 'active' };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.code === 'promotion_required') return { ...activated, outcome: 'finalized' };
        throw releaseError(error.detail ?? error.message);
      }
    },
  };
}

function releaseError(detail: string): DeploymentFailure {
  return new DeploymentFailure('source_unavailable', 'switch', detail);
}
