import { consolePaths } from '@svc/contract/console-paths.ts';
import { notify } from '../../apps/notifications/notifications.ts';
import { findAppRow, listOwnerIds } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import { databaseError } from '../../core/db.ts';
import type { Invalidation } from '../../core/invalidation.ts';
import { createLeasedWorker, type LeasedWorker } from '../../core/jobs.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import type { RunResult } from '../../drivers/runtime/runtime.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { DeploymentFailure } from '../deployments/claimed-work.ts';
import { findLiveDeployment } from '../deployments/deployment-record.ts';
import { loadRunSettings, type RunSettingsDeps } from '../deployments/instances.ts';
import { busyTenants } from '../deployments/rules.ts';
import { logTag } from '../logs/log-lines.ts';
import type { LogSinks, OpenLog } from '../logs/log-sink.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { type CallTracker, callApp } from './call-app.ts';
import {
  claimRun,
  hasFailedBefore,
  hasOpenRun,
  isTooLate,
  lockRunRow,
  lostText,
  missedText,
  type RunClaim,
  type RunRow,
  renewEveryMs,
  renewRunLease,
  runName,
  runsTag,
  saveRunDeployment,
  updateRunRow,
} from './run-records.ts';
import { createScheduler } from './schedules.ts';

interface RunDeps extends OperatorDeps, RunSettingsDeps {
  urls: SiteUrls;
  logs: LogSinks;
  calls: CallTracker;
  now: () => Date;
}

type Ending = Pick<RunRow, 'state'> & Partial<Pick<RunRow, 'exit_code' | 'failure' | 'lines_missing'>>;

const concurrencyMax = 20;
const pollMs = 1_000;

interface RunWorker extends LeasedWorker {
  /** Aborts the runs of this process for which a cancelation was requested. */
  checkCancelations(): Promise<void>;
}

function createRunWorker(deps: RunDeps): RunWorker {
  const { db, log } = deps;
  const cancels = new Map<RunClaim, AbortController>();
  const stopping = new AbortController();

  async function renew(claimed: RunClaim): Promise<boolean> {
    const lease = await renewRunLease(db, claimed);
    if (lease === 'cancel_asked') cancels.get(claimed)?.abort(new Error('The run was canceled.'));
    return lease !== 'lost';
  }

  async function work(claimed: RunClaim, leased: AbortSignal): Promise<void> {
    const cancel = new AbortController();
    cancels.set(claimed, cancel);
    const signal = AbortSignal.any([leased, cancel.signal]);
    let ending: Ending;
    try {
      ending = await carryOut(deps, claimed, signal);
    } catch (error) {
      if (cancel.signal.aborted) ending = { state: 'canceled' };
      else if (stopping.signal.aborted) ending = { state: 'failed', failure: lostText };
      // The lease is lost: another server has ended the run.
      else if (leased.aborted) return;
      else ending = failedBy(error);
    } finally {
      cancels.delete(claimed);
    }
    await endRun(deps, claimed, ending);
  }

  function failedBy(error: unknown): Ending {
    // Without the database the end cannot be stored either; the lease expires.
    if (databaseError(error)) throw error;
    if (error instanceof DeploymentFailure) return { state: 'failed', failure: error.message };
    log.error({ err: error }, 'run failed internally');
    return { state: 'failed', failure: 'An internal error; the server log has details.' };
  }

  const worker = createLeasedWorker<RunClaim>({
    name: 'runs',
    log,
    concurrencyMax,
    pollMs,
    renewMs: renewEveryMs,
    renew,
    work,
    claim: () => {
      const claims = [...cancels.keys()].map(({ tenant_id: tenantId }) => ({ tenantId }));
      return claimRun(db, { excludedTenants: busyTenants(claims, concurrencyMax) });
    },
    hasOpenWork: () => hasOpenRun(db),
  });
  return {
    ...worker,
    async checkCancelations() {
      for (const claimed of [...cancels.keys()]) await renew(claimed);
    },
    async stop() {
      stopping.abort();
      await worker.stop();
    },
  };
}

async function carryOut(deps: RunDeps, claimed: RunClaim, signal: AbortSignal): Promise<Ending> {
  const { db, runtime } = deps;
  if (claimed.isLost) {
    await runtime.stop({ instanceId: claimed.id, handle: {} }, { graceMs: 0 });
    await deps.environment.endCommandIdentity(claimed.app_id, claimed.id);
    return { state: 'failed', failure: lostText };
  }
  if (claimed.cancel_asked) return { state: 'canceled' };
  if (claimed.due_at !== null && isTooLate(claimed.due_at, deps.now()))
    return { state: 'missed', failure: missedText };
  const app = { tenantId: claimed.tenant_id, appId: claimed.app_id };
  // A schedule may have come due while the app was stopped.
  const record = await findAppRow(db, app.tenantId, app.appId);
  if (record?.record !== 'active' || record.runtime === 'suspended') return { state: 'canceled' };
  const live = await findLiveDeployment(db, app);
  if (!live || live.method === 'static')
    return { state: 'failed', failure: 'No process of the app is deployed.' };
  await saveRunDeployment(db, claimed, live.id);
  const timeoutMs = claimed.timeout_seconds * 1_000;
  const identity = await deps.environment.commandIdentity(live, { commandId: claimed.id, timeoutMs });
  const { secrets, ...settings } = await loadRunSettings(deps, live, identity);
  const log = deps.logs.open({ appId: app.appId, deploymentId: claimed.id, source: 'run', secrets });
  let ending: Ending;
  try {
    if (claimed.path !== null) ending = await callPath(deps, claimed, { log, signal });
    else {
      const job = { runId: claimed.id, command: claimed.command ?? '', timeoutMs, log: log.sink, signal };
      ending = commandEnding(await runtime.run({ ...settings, ...job }), log);
    }
  } finally {
    await deps.environment.endCommandIdentity(app.appId, claimed.id);
    // Before the end is stored: readers of the log then have all of it.
    await log.close();
  }
  return { ...ending, lines_missing: log.missing() };
}

function commandEnding({ exitCode, how }: RunResult, log: OpenLog): Ending {
  if (exitCode === 0) return { state: 'succeeded', exit_code: 0 };
  const failure = `The command ${how}.`;
  if (exitCode === null) log.sink('platform', failure);
  return { state: 'failed', exit_code: exitCode, failure };
}

async function callPath(
  deps: RunDeps,
  claimed: RunClaim,
  { log, signal }: { log: OpenLog; signal: AbortSignal },
): Promise<Ending> {
  const failure = await callApp(deps, claimed, { log: log.sink, signal });
  if (failure === null) return { state: 'succeeded' };
  log.sink('platform', failure);
  return { state: 'failed', failure };
}

/** Does nothing if another server has ended the run. */
function endRun(deps: RunDeps, claimed: RunClaim, ending: Ending): Promise<void> {
  const name = `runs.${ending.state}`;
  return runAsOperator(deps, { name, auditTenantId: claimed.tenant_id }, async (ctx) => {
    const app = { tenantId: claimed.tenant_id, appId: claimed.app_id };
    const row = await lockRunRow(ctx.db, app, claimed.id);
    if (!row || row.lease_holder !== claimed.lease || row.ended_at !== null) return;
    const ended = { ...ending, ended_at: ctx.now, lease_holder: null, lease_until: null };
    await updateRunRow(ctx.db, row, ended);
    ctx.invalidate(logTag(row.id));
    // Times of schedules are too many for the audit log; their runs are listed.
    if (row.due_at === null)
      ctx.audit({
        action: 'runs.end',
        appId: row.app_id,
        target: { kind: 'run', id: row.id, name: runName(row) },
        before: { state: row.state },
        after: { state: ending.state, exit_code: ending.exit_code ?? null, failure: ending.failure ?? null },
      });
    if (ending.state === 'failed' && row.due_at !== null) await notifyFailure(ctx, row, ending);
  });
}

/** Once, until the schedule succeeds again. */
async function notifyFailure(ctx: MutationCtx, row: RunRow, { failure }: Ending): Promise<void> {
  if (await hasFailedBefore(ctx.db, row)) return;
  const app = { tenantId: row.tenant_id, appId: row.app_id };
  const tenant = await findTenant(ctx, { ref: app.tenantId });
  const found = await findAppRow(ctx.db, app.tenantId, app.appId);
  if (!tenant || !found) return;
  await notify(ctx, {
    ...app,
    kind: 'schedule_failed',
    userIds: await listOwnerIds(ctx.db, app),
    title: `Schedule ${row.schedule} of ${found.slug} failed`,
    text: `${failure ?? ''}\n\nDue at ${row.due_at?.toISOString()}. You are notified again after it has succeeded once.`,
    path: consolePaths.run(tenant.slug, found.slug, row.id),
  });
}

export function startRuns(deps: RunDeps, { onChange }: Pick<Invalidation, 'onChange'>) {
  const worker = createRunWorker(deps);
  const scheduler = createScheduler(deps);
  onChange((tag) => {
    if (tag !== runsTag && tag !== null) return;
    worker.wake();
    scheduler.wake();
    worker
      .checkCancelations()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'check for cancelations failed'));
  });
  worker.start();
  scheduler.start();
  return {
    async stop() {
      await Promise.all([worker.stop(), scheduler.stop()]);
    },
  };
}
