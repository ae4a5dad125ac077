import { lockApp } from '../../apps/record/find-app.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { isActivatedAtOnce } from '../static-sites/deployment-releases.ts';
import {
  advance,
  type ClaimedWork,
  DeploymentFailure,
  endDeployment,
  LeaseLost,
  withLease,
} from './claimed-work.ts';
import { goLive } from './go-live.ts';
import { loadRunSettings } from './instances.ts';
import {
  deleteInstanceRow,
  drainAppInstances,
  insertInstanceRow,
  listDeploymentInstances,
  listScales,
  saveReady,
} from './instances-store.ts';
import {
  type BuiltSite,
  type InstanceSlot,
  instanceSlots,
  isOvertaken,
  needsReview,
  processScales,
  releaseMsMax,
  replacedScales,
} from './rules.ts';
import {
  type DeploymentRow,
  findDeploymentRow,
  findLiveDeploymentRow,
  toAppRef,
  updateDeploymentRow,
} from './store.ts';

/**
 * In the state `releasing` a deployment cannot be canceled, and its app cannot be archived or deleted. A site that needs a
 * review stays `built`, because its release replaces nothing. Answers `built` where the deployment must wait for a review. With
 * a release command the deployment stays `built` too, at the step `release`: it can be canceled while the command runs.
 */
export function beginRelease(
  work: ClaimedWork,
  { isReleaseCommandDone = false } = {},
): Promise<DeploymentRow | 'canceled' | 'skipped' | 'built'> {
  return withLease(work, 'deployments.release', async (ctx, { row }) => {
    const appRef = toAppRef(row);
    const app = await lockApp(ctx.db, appRef.tenantId, appRef.appId);
    if (row.cancel_asked || app?.record !== 'active') return 'canceled';
    if (app.runtime === 'suspended' && row.kind !== 'resume') return 'canceled';
    if (isOvertaken(row, await findLiveDeploymentRow(ctx.db, appRef))) return 'skipped';
    const tenant = await findTenant(ctx, { ref: appRef.tenantId });
    if (needsReview(row, app.visibility, tenant?.review_deployments ?? 'all')) return 'built';
    if (!isReleaseCommandDone && releaseCommand(row) !== null) {
      const set = { step: 'release' } as const;
      await updateDeploymentRow(ctx.db, row, set);
      return { ...row, ...set };
    }
    const isStatic = row.method === 'static';
    const planned = {
      ...appRef,
      visibility: app.visibility,
      deploymentId: row.id,
      releaseId: row.release_id,
    };
    const isReleasing = !isStatic || (await isActivatedAtOnce(ctx.db, planned));
    const set = {
      state: isReleasing ? 'releasing' : row.state,
      step: isStatic ? 'switch' : 'start',
    } as const;
    await updateDeploymentRow(ctx.db, row, set);
    return { ...row, ...set };
  });
}

/** Only a new build runs it. A rollback, restart or resume has a build that was live before. */
function releaseCommand({ kind, start_with }: DeploymentRow): string | null {
  return kind === 'deploy' ? (start_with?.release ?? null) : null;
}

/** A deployment that another server resumes runs it again. */
export async function runReleaseCommand(work: ClaimedWork, row: DeploymentRow): Promise<void> {
  const { deps, log, signal } = work;
  const command = releaseCommand(row);
  if (command === null) return;
  log.sink('platform', `$ ${command}`);
  // Stops the command of an attempt that another server has lost.
  await deps.runtime.stop({ instanceId: row.id, handle: {} }, { graceMs: 0 });
  const timeoutMs = releaseCommandMinutesMax * 60_000;
  await deps.environment.endCommandIdentity(row.app_id, row.id);
  const identity = await deps.environment.commandIdentity(row, { commandId: row.id, timeoutMs });
  const { secrets: _, ...settings } = await loadRunSettings(deps, row, identity);
  const { exitCode, how } = await deps.runtime
    .run({ ...settings, runId: row.id, command, timeoutMs, log: log.sink, signal })
    .finally(() => deps.environment.endCommandIdentity(row.app_id, row.id));
  if (exitCode !== 0)
    throw new DeploymentFailure('release_failed', 'release', `The release command “${command}” ${how}.`);
}

const releaseCommandMinutesMax = 30;

/** Needs a limit because a release can be neither canceled nor stopped. */
export async function releaseWithTimeout(
  work: ClaimedWork,
  row: DeploymentRow,
  release: (work: ClaimedWork) => Promise<void>,
): Promise<void> {
  const { deps, claimed } = work;
  const late = new AbortController();
  const ms = (deps.releaseMsMax ?? releaseMsMax)(row);
  const timer = setTimeout(() => late.abort(new Error('The release takes too long.')), ms);
  try {
    await release({ ...work, signal: AbortSignal.any([work.signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted || work.signal.aborted || error instanceof LeaseLost) throw error;
    const step = (await findDeploymentRow(deps.db, claimed, row.id))?.step ?? 'start';
    throw new DeploymentFailure(
      'release_timeout',
      step,
      `The release took longer than ${Math.round(ms / 1_000)} s.`,
    );
  } finally {
    clearTimeout(timer);
  }
}

export async function releaseStatic(work: ClaimedWork, row: DeploymentRow, site: BuiltSite | null) {
  const { deps, log, claimed } = work;
  const released = await makeRelease(work, row, site);
  if (released.outcome === 'active') {
    // Activating a release makes its deployment live, unless the release was already active before this attempt.
    if ((await findDeploymentRow(deps.db, claimed, row.id))?.state !== 'live')
      await withLease(work, 'deployments.live', (ctx, locked) =>
        goLive(ctx, { ...locked, releaseId: released.releaseId }),
      );
    log.sink('platform', 'Released and live.');
    return;
  }
  if ((await deps.sites.submit(row, released.releaseId)) === 'overtaken') {
    log.sink('platform', 'A newer release waits for a review already.');
    return endDeployment(work, { state: 'skipped' });
  }
  log.sink(
    'platform',
    'Other people can see the app: the release is staged, and an admin must approve it first.',
  );
  await endDeployment(work, { state: 'built', releaseId: released.releaseId });
}

function makeRelease({ deps, signal }: ClaimedWork, row: DeploymentRow, site: BuiltSite | null) {
  if (row.source === 'artifact') {
    if (row.release_id === null)
      throw new Error('A static deployment without a release cannot be rolled back to.');
    return deps.sites.reactivate(row, row.release_id);
  }
  if (!site) throw new Error('A static build returned no folder.');
  return deps.sites.release(row, site, signal);
}

export async function releaseInstances(work: ClaimedWork, row: DeploymentRow): Promise<void> {
  const { deps, instances, log, signal } = work;
  await stopLeftoverInstances(work);
  const { tenant_id, app_id, id: deployment_id } = row;
  const scales = await listScales(deps.db, toAppRef(row));
  for (const process of replacedScales(row)) scales.delete(process);
  const planned = instanceSlots(processScales(row, scales)).map((slot) => ({
    ...slot,
    id: Bun.randomUUIDv7(),
  }));
  for (const slot of planned)
    await insertInstanceRow(deps.db, {
      ...slot,
      tenant_id,
      app_id,
      deployment_id,
      node: deps.runtime.node,
    });
  log.sink('platform', planned.length > 1 ? `Starting ${describeSlots(planned)} …` : 'Starting …');
  await instances.start(planned, row, signal);
  await advance(work, 'releasing', { step: 'switch' });
  await withLease(work, 'deployments.live', async (ctx, locked) => {
    if (locked.row.state !== 'releasing') throw new LeaseLost();
    for (const { id } of planned) if (!(await saveReady(ctx.db, id))) throw new LeaseLost();
    await drainAppInstances(ctx.db, toAppRef(row), { except: deployment_id });
    await goLive(ctx, locked);
  });
  log.sink('platform', 'Healthy and live.');
}

function describeSlots(planned: readonly InstanceSlot[]): string {
  const counts = Map.groupBy(planned, ({ process }) => process);
  return [...counts].map(([process, { length }]) => `${length} × ${process}`).join(', ');
}

/** Instances of an earlier attempt. Those of other nodes are stopped there, because their row is gone. */
async function stopLeftoverInstances({ deps, instances, claimed }: ClaimedWork): Promise<void> {
  for (const instance of await listDeploymentInstances(deps.db, claimed.id)) {
    if (instance.node === deps.runtime.node) await instances.stop(instance);
    else await deleteInstanceRow(deps.db, instance.id);
  }
}
