import { chmod, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { notify } from '../../apps/notifications/notifications.ts';
import { findAppById, listOwnerIds, lockApp } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { isUuid } from '../../core/values.ts';
import { GitError } from '../../drivers/git/run-git.ts';
import { BuildError } from '../../drivers/runtime/runtime.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { OpenLog } from '../logs/log-sink.ts';
import { publishLiveEvent } from '../static-sites/live-events.ts';
import { endDeploymentRow, expireArtifacts } from './artifacts.ts';
import type { Instances } from './instances.ts';
import { abandonInstances } from './instances-store.ts';
import { type DeploymentDeps, deploymentName, workTag } from './rules.ts';
import {
  type DeploymentRow,
  type DeploymentState,
  type DeploymentStep,
  lockDeploymentRow,
  toAppRef,
  updateDeploymentRow,
} from './store.ts';
import { type Claim, findClaimedRow, listLeasedIds, updateClaimedRow } from './work-store.ts';

export interface ClaimedWork {
  deps: DeploymentDeps;
  instances: Instances;
  claimed: Claim;
  log: OpenLog;
  signal: AbortSignal;
  canceled: AbortSignal;
  releaseBuildSlot(): void;
}

export async function loadClaimedRow({ deps, claimed }: Pick<ClaimedWork, 'deps' | 'claimed'>) {
  const row = await findClaimedRow(deps.db, claimed);
  if (!row) throw new LeaseLost();
  return row;
}

/** Throws `LeaseLost`, and writes nothing, if another process has the lease or the state is not `from`. */
export async function advance(
  work: Pick<ClaimedWork, 'deps' | 'claimed'>,
  from: DeploymentState,
  set: Partial<DeploymentRow>,
): Promise<DeploymentRow> {
  if (!(await updateClaimedRow(work.deps.db, work.claimed, { from, set }))) throw new LeaseLost();
  return loadClaimedRow(work);
}

/** For operations without an abort signal of their own: on abort their result is ignored. */
export function rejectOnAbort<T>(doing: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const leave = () => aborted.reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  doing.catch(() => {});
  return Promise.race([doing, aborted.promise]).finally(() => signal.removeEventListener('abort', leave));
}

/** The path contains the lease: a process that lost it deletes its own folder, not the one of its successor. */
export async function createWorkFolder(workDir: string, { id, lease }: Claim): Promise<string> {
  await rm(join(workDir, id), { recursive: true, force: true });
  const folder = join(workDir, id, lease);
  await mkdir(folder, { recursive: true });
  for (const each of [join(workDir, id), folder]) await chmod(each, 0o711);
  return folder;
}

export async function deleteWorkFolder(workDir: string, { id, lease }: Claim): Promise<void> {
  await rm(join(workDir, id, lease), { recursive: true, force: true }).catch(() => {});
  // Fails while another claim has a folder in it.
  await rmdir(join(workDir, id)).catch(() => {});
}

export async function deleteOrphanedWorkFolders(db: Db, workDir: string): Promise<void> {
  const ids = (await readdir(workDir)).filter(isUuid);
  if (ids.length === 0) return;
  const leased = await listLeasedIds(db, ids);
  for (const id of ids) if (!leased.has(id)) await rm(join(workDir, id), { recursive: true, force: true });
}

type LeasedWork = Pick<ClaimedWork, 'deps' | 'claimed'>;

/** Runs a change under the row locks of the app and of the deployment; throws `LeaseLost` without the lease. */
export function withLease<T>(
  { deps, claimed }: LeasedWork,
  name: string,
  useCase: (ctx: MutationCtx, locked: { slug: string; row: DeploymentRow }) => Promise<T>,
): Promise<T> {
  return runAsOperator(deps, { name, auditTenantId: claimed.tenantId }, async (ctx) => {
    const app = await lockApp(ctx.db, claimed.tenantId, claimed.appId, 'any');
    const row = app && (await lockDeploymentRow(ctx.db, claimed, claimed.id));
    if (!row || row.lease_holder !== claimed.lease) throw new LeaseLost();
    return useCase(ctx, { slug: app.slug, row });
  });
}

type Ending =
  | { state: 'failed'; failure: DeploymentFailure }
  | { state: 'canceled' | 'skipped' }
  | { state: 'built'; releaseId: string | null };

export async function endDeployment(work: LeasedWork, ending: Ending): Promise<void> {
  await withLease(work, `deployments.${ending.state}`, async (ctx, { slug, row }) => {
    const failure = ending.state === 'failed' ? ending.failure : null;
    if (ending.state === 'built') await saveForReview(ctx, row, ending);
    else await endDeploymentRow(ctx, row, { state: ending.state, ...failureFields(failure) });
    // The reconciler stops them: a runtime that hangs must not hold the app's lock.
    await abandonInstances(ctx.db, row.id);
    ctx.audit({
      action: `deployments.${ending.state === 'failed' ? 'fail' : 'end'}`,
      appId: row.app_id,
      target: { kind: 'deployment', id: row.id, name: deploymentName(slug, row) },
      before: { state: row.state },
      after: { state: ending.state, ...(failure && { failure: failure.code, step: failure.step }) },
    });
    if (failure) await notifyFailure(ctx, { slug, row }, failure);
    ctx.invalidate(workTag);
    ctx.invalidate(`logs:${row.id}`);
  });
}

async function saveForReview(
  ctx: MutationCtx,
  row: DeploymentRow,
  { releaseId }: { releaseId: string | null },
) {
  await updateDeploymentRow(ctx.db, row, {
    state: 'built',
    step: null,
    ended_at: ctx.now,
    lease_holder: null,
    lease_until: null,
    release_id: releaseId,
  });
  await expireArtifacts(ctx, toAppRef(row));
  if (releaseId === null)
    await publishLiveEvent(ctx, 'reviewRequired', { ...toAppRef(row), deploymentId: row.id });
}

function failureFields(failure: DeploymentFailure | null) {
  if (!failure) return {};
  const { code: failure_code, step, message } = failure;
  return { step, failure_code, failure_step: step, failure_detail: message.slice(0, detailCharsMax) };
}

const detailCharsMax = 2_000;

/** `message` is shown to the app's owners. */
export class DeploymentFailure extends Error {
  lines: readonly string[] = [];
  constructor(
    readonly code: NonNullable<DeploymentRow['failure_code']>,
    readonly step: DeploymentStep,
    message: string,
  ) {
    super(message);
    this.name = 'DeploymentFailure';
  }
}

/** Another process has the lease, or the deployment has ended: the result of this attempt is discarded. */
export class LeaseLost extends Error {
  constructor() {
    super('The lease of the deployment was lost.');
    this.name = 'LeaseLost';
  }
}

/** Null for internal errors, whose messages owners must not see. */
export function toDeploymentFailure(error: unknown): DeploymentFailure | null {
  if (error instanceof DeploymentFailure) return error;
  if (error instanceof BuildError) return new DeploymentFailure('build_failed', error.step, error.message);
  if (error instanceof GitError) return new DeploymentFailure('source_unavailable', 'fetch', error.message);
  return null;
}

/** The person who pushed a preview; otherwise all owners. */
async function failureRecipients(ctx: MutationCtx, row: DeploymentRow): Promise<string[]> {
  const previewOf = (await findAppById(ctx, { id: row.app_id }))?.previewOf ?? null;
  if (previewOf === null) return listOwnerIds(ctx.db, toAppRef(row));
  return row.created_by === null
    ? listOwnerIds(ctx.db, { tenantId: row.tenant_id, appId: previewOf })
    : [row.created_by];
}

/** Only for pushes: a person who deploys by hand sees the result. */
async function notifyFailure(
  ctx: MutationCtx,
  { slug, row }: { slug: string; row: DeploymentRow },
  failure: DeploymentFailure,
): Promise<void> {
  if (row.trigger !== 'push') return;
  const tenant = await findTenant(ctx, { ref: row.tenant_id });
  if (!tenant) return;
  const appRef = toAppRef(row);
  const commit = row.commit_sha ? ` of commit ${row.commit_sha.slice(0, 12)}` : '';
  await notify(ctx, {
    ...appRef,
    kind: 'deployment_failed',
    userIds: await failureRecipients(ctx, row),
    title: `Deployment ${deploymentName(slug, row)} failed`,
    text: `The push${commit} did not go live; the previous deployment is still live.\n\n${failure.message}`,
    path: consolePaths.deployment(tenant.slug, slug, row.id),
  });
}
