import { lockAppFor } from '../../apps/record/app-access.ts';
import { findAppRow } from '../../apps/record/find-app.ts';
import type { AppCtx, AppMutationCtx, AppRef, MutationCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { hasTables } from '../../data/tables/tables.ts';
import type { BuildPlan, Runtime } from '../../drivers/runtime/runtime.ts';
import { findConnection } from '../git-connections/connections.ts';
import { findReleaseRow } from '../static-sites/release-store.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { describeRemainingTables } from './apply-tables.ts';
import { endDeploymentRow, requireSameRuntime } from './artifacts.ts';
import {
  type DeploymentRecord,
  deploymentRecord,
  deploymentRecords,
  openEnv,
  sealEnv,
} from './deployment-record.ts';
import type { DeploymentRequest } from './instances.ts';
import { queueDeployment } from './queue-deployment.ts';
import { cancelOutcome, deploymentName, requireDeployable, rollbackObstacle, workTag } from './rules.ts';
import {
  type DeploymentRow,
  type DeploymentState,
  findDeploymentRow,
  findLiveDeploymentRow,
  isUploaded,
  listDeploymentRows,
  lockDeploymentRow,
  lockOpenRows,
  type TableChanges,
  toAppRef,
  updateDeploymentRow,
} from './store.ts';

export async function listDeployments(
  ctx: AppCtx,
  query: PageQuery & { state?: DeploymentState | undefined },
  urls: SiteUrls,
) {
  const appRef = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const { rows, total } = await listDeploymentRows(ctx.db, appRef, {
    state: query.state,
    window: pageWindow(query),
  });
  const subdomain = (await findAppRow(ctx.db, ctx.tenant.id, ctx.app.id))?.subdomain ?? null;
  return toPage(query, await deploymentRecords(ctx.db, rows, { subdomain, urls }), total);
}

export async function getDeployment(ctx: AppCtx, { id }: { id: string }, urls: SiteUrls) {
  const row = orNotFound(await findDeploymentRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, id));
  const app = await findAppRow(ctx.db, ctx.tenant.id, ctx.app.id);
  return deploymentRecord(ctx.db, row, { subdomain: app?.subdomain ?? null, urls });
}

export async function createDeployment(
  ctx: AppMutationCtx,
  { ref, uploadId, tableChanges = null }: DeploymentRequest,
  urls: SiteUrls,
): Promise<DeploymentRecord> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  requireDeployable(app);
  const appRef = { tenantId: ctx.tenant.id, appId: app.id };
  if (uploadId !== undefined && ref !== undefined)
    throw validationError('ref', 'applies to the connected repository, but source was uploaded');
  const connection = uploadId === undefined ? await findConnection(ctx.db, appRef) : null;
  if (uploadId === undefined && !connection) throw fail('no_source');
  if (tableChanges?.allowed === 'all') await warnOfLostValues(ctx, tableChanges);
  const storedId = uploadId === 'pending' ? undefined : uploadId;
  if (storedId !== undefined && !(await isUploaded(ctx.db, appRef, { uploadId: storedId })))
    throw fail('no_source', { detail: 'The source was not uploaded, or has expired.' });
  const row = await queueDeployment(ctx, {
    ...appRef,
    trigger: 'person',
    source: connection ? 'repository' : 'upload',
    repo: connection && `${connection.repo.owner}/${connection.repo.name}`,
    ref: connection && (ref ?? connection.branch),
    uploadId: storedId,
    createdBy: ctx.caller.userId,
    reuse: { table_changes: tableChanges },
  });
  return deploymentRecord(ctx.db, row, { subdomain: app.subdomain, urls });
}

/** The steps are known when the source is unpacked. */
async function warnOfLostValues(ctx: AppMutationCtx, { prune }: TableChanges): Promise<void> {
  if (!(await hasTables(ctx))) return;
  ctx.warnOfLoss(
    `${prune ? 'Tables, columns and values' : 'Values'} that svc.yaml has no place for are lost when the deployment goes live. ` +
      `To see which: svc apply --app ${ctx.app.slug}${prune ? ' --prune' : ''}`,
  );
}

export async function requireSupportedMethod(ctx: AppCtx, runtime: Pick<Runtime, 'refuses'>): Promise<void> {
  const app = await findAppRow(ctx.db, ctx.tenant.id, ctx.app.id);
  if (app) requireDeployable(app);
  const method = app?.deploy_method;
  if (method !== 'compose') return;
  const why = await runtime.refuses({ method, plan: anyCompose });
  if (why !== null) throw fail('runtime_unsupported', { detail: why });
}

const anyCompose: BuildPlan = {
  installCommand: null,
  buildCommand: null,
  dir: '.',
  startCommand: null,
  outputDir: null,
  dockerfile: null,
  composeFile: 'compose.yaml',
  language: 'unknown',
};

export async function cancelDeployment(
  ctx: AppMutationCtx,
  { id }: { id: string },
  urls: SiteUrls,
): Promise<DeploymentRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const row = orNotFound(await lockDeploymentRow(ctx.db, { tenantId: ctx.tenant.id, appId: app.id }, id));
  const outcome = cancelOutcome(row);
  if (outcome === 'refused') throw fail('not_cancelable', { detail: `The deployment is ${row.state}.` });
  const audit = {
    action: 'deployments.cancel',
    appId: app.id,
    target: { kind: 'deployment', id, name: deploymentName(app.slug, row) },
  };
  if (outcome === 'same') {
    ctx.audit({ ...audit, before: {}, after: {} });
    return { ...(await deploymentRecord(ctx.db, row, { subdomain: app.subdomain, urls })), changed: false };
  }
  const set =
    outcome === 'ends' ? await endDeploymentRow(ctx, row, { state: 'canceled' }) : { cancel_asked: true };
  if (outcome === 'requested') await updateDeploymentRow(ctx.db, row, set);
  ctx.audit({ ...audit, before: { state: row.state }, after: { state: 'canceled' } });
  ctx.invalidate(workTag);
  return deploymentRecord(ctx.db, { ...row, ...set }, { subdomain: app.subdomain, urls });
}

export async function rollbackDeployment(
  ctx: AppMutationCtx,
  { id }: { id: string },
  { runtime, ...urls }: SiteUrls & { runtime: Pick<Runtime, 'kind'> },
): Promise<DeploymentRecord> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const appRef = { tenantId: ctx.tenant.id, appId: app.id };
  const target = orNotFound(await lockDeploymentRow(ctx.db, appRef, id));
  requireDeployable(app, 'rollback');
  const obstacle = rollbackObstacle(target);
  if (obstacle) throw fail(obstacle, { detail: `Deployment #${target.seq} is ${target.state}.` });
  requireSameRuntime(target, runtime);
  const warning = await describeRemainingTables(ctx.db, target);
  if (warning !== null) ctx.warn(warning);
  if (target.method === 'static') await requireStoredRelease(ctx, target);
  const row = await queueDeployment(ctx, {
    ...appRef,
    kind: 'rollback',
    trigger: 'person',
    source: 'artifact',
    createdBy: ctx.caller.userId,
    reuse: { ...builtFields(target), rollback_of: target.id },
  });
  if (target.env_sealed) {
    // A sealed environment is bound to its deployment.
    const env = await openEnv(ctx.db, { deploymentId: target.id, sealed: target.env_sealed });
    const env_sealed = await sealEnv(ctx.db, { deploymentId: row.id, env });
    await updateDeploymentRow(ctx.db, row, { env_sealed });
  }
  return deploymentRecord(ctx.db, row, { subdomain: app.subdomain, urls });
}

/** Starts the live build again, with the current variables. The instance before it answers until the new one is healthy. */
export async function restartApp(
  ctx: AppMutationCtx,
  { runtime, ...urls }: SiteUrls & { runtime: Pick<Runtime, 'kind'> },
): Promise<DeploymentRecord> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const appRef = { tenantId: ctx.tenant.id, appId: app.id };
  requireDeployable(app, 'restart');
  const live = await findLiveDeploymentRow(ctx.db, appRef);
  if (!live) throw fail('nothing_deployed');
  if (live.method === 'static')
    throw fail('nothing_deployed', { detail: 'A site has no process to restart.' });
  requireSameRuntime(live, runtime);
  const row = await queueDeployment(ctx, {
    ...appRef,
    kind: 'restart',
    trigger: 'person',
    source: 'artifact',
    createdBy: ctx.caller.userId,
    reuse: builtFields(live),
  });
  return deploymentRecord(ctx.db, row, { subdomain: app.subdomain, urls });
}

async function requireStoredRelease(ctx: AppMutationCtx, target: DeploymentRow): Promise<void> {
  const release = await findReleaseRow(ctx.db, toAppRef(target), target.release_id ?? target.id);
  if (release?.state === 'revoked') throw fail('release_revoked');
  if (release?.state !== 'finalized')
    throw fail('artifact_expired', {
      detail: `The release of deployment #${target.seq} is no longer stored.`,
    });
}

function builtFields(row: DeploymentRow): Partial<DeploymentRow> {
  const { repo, ref, commit_sha, commit_message, runtime, artifact, start_with, digest, release_id } = row;
  return {
    method: row.method,
    reviewed_visibility: row.reviewed_visibility,
    repo,
    ref,
    commit_sha,
    commit_message,
    runtime,
    artifact,
    start_with,
    digest,
    release_id,
    is_kept: true,
  };
}

/** Uses the current variables. Null for sites, which have no process. Caller must hold the app's row lock. */
export async function resumeDeployment(ctx: MutationCtx, appRef: AppRef, runtime: Pick<Runtime, 'kind'>) {
  const live = await findLiveDeploymentRow(ctx.db, appRef);
  if (!live || live.method === 'static') return null;
  const open = (await lockOpenRows(ctx.db, appRef)).find(({ kind }) => kind === 'resume');
  if (open) return { row: open, isNew: false };
  requireSameRuntime(live, runtime);
  const row = await queueDeployment(ctx, {
    ...appRef,
    kind: 'resume',
    trigger: 'resume',
    source: 'artifact',
    createdBy: ctx.caller.userId,
    reuse: builtFields(live),
  });
  return { row, isNew: true };
}
