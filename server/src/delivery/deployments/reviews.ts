import { CompiledQuery } from 'kysely';
import type { AppAccess, AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { fail } from '../../core/problem.ts';
import {
  endRawDatabaseReview,
  loadReaderEnv,
  startRawDatabaseReview,
} from '../../data/raw-databases/lifecycle.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { approvedChanges, plannedTableSteps } from './apply-tables.ts';
import { endDeploymentRow } from './artifacts.ts';
import { abandonInstances } from './instances-store.ts';
import { deploymentName, workTag } from './rules.ts';
import { listSourceChanges } from './source-files.ts';
import {
  type DeploymentRow,
  findWaitingDeployment,
  lockDeploymentRow,
  lockInReview,
  lockOpenRows,
  markOpened,
  toAppRef,
  updateDeploymentRow,
} from './store.ts';

/** For other slices, which must not import the store. */
export const findDeploymentInReview: typeof findWaitingDeployment = findWaitingDeployment;
export const findTableSteps: typeof plannedTableSteps = plannedTableSteps;
export const findSourceChanges: typeof listSourceChanges = listSourceChanges;

export async function openForReview(db: Db, deploymentId: string): Promise<void> {
  if (await markOpened(db, deploymentId)) await db.executeQuery(CompiledQuery.raw(notifySql, [workTag]));
}

export async function openReviewDatabase(
  db: Db,
  { rawDatabases }: { rawDatabases: RawDatabases },
  row: DeploymentRow,
): Promise<Record<string, string>> {
  const app = toAppRef(row);
  const isStarted = await db.transaction().execute(async (tx) => {
    if (!(await lockInReview(tx, row.id))) return false;
    await startRawDatabaseReview(tx, app, row.id);
    return true;
  });
  return isStarted ? loadReaderEnv({ db, raw: rawDatabases }, app) : {};
}

/** Opens the deployment again: a worker releases exactly what was built. Caller must hold the app's row lock. */
export async function startReviewedDeployment(
  ctx: MutationCtx,
  app: AppRef,
  { id, visibility }: { id: string; visibility: AppAccess['visibility'] },
): Promise<void> {
  const row = await lockDeploymentRow(ctx.db, app, id);
  if (row?.state !== 'built' || row.ended_at === null) throw fail('stale_deployment');
  const busy = (await lockOpenRows(ctx.db, app)).find(({ state }) => state !== 'queued');
  if (busy)
    throw fail('deploy_in_progress', {
      detail: `Deployment #${busy.seq} is under way. Approve this one when it has ended, unless it replaces it.`,
    });
  await endRawDatabaseReview(ctx, app);
  await updateDeploymentRow(ctx.db, row, {
    reviewed_visibility: visibility,
    table_changes: await approvedChanges(ctx, row),
    ended_at: null,
    attempts: 0,
    lease_holder: null,
    lease_until: new Date(0),
  });
  ctx.invalidate(workTag);
}

/** Records that the build was approved for more people. Caller must hold the app's row lock. */
export async function markDeploymentReviewed(
  ctx: MutationCtx,
  app: AppRef,
  { id, visibility }: { id: string; visibility: AppAccess['visibility'] },
): Promise<void> {
  const row = await lockDeploymentRow(ctx.db, app, id);
  if (row) await updateDeploymentRow(ctx.db, row, { reviewed_visibility: visibility });
}

/** After a review without an approval. Caller must hold the app's row lock. */
export async function endReviewedDeployment(
  ctx: MutationCtx,
  app: AppRef & { slug: string },
  { id, state }: { id: string; state: 'canceled' | 'skipped' },
): Promise<void> {
  const row = await lockDeploymentRow(ctx.db, app, id);
  if (row?.state !== 'built' || row.ended_at === null) return;
  await endDeploymentRow(ctx, row, { state });
  await abandonInstances(ctx.db, id);
  await endRawDatabaseReview(ctx, app);
  ctx.audit({
    action: 'deployments.end',
    appId: app.appId,
    target: { kind: 'deployment', id, name: deploymentName(app.slug, row) },
    before: { state: row.state },
    after: { state },
  });
}
