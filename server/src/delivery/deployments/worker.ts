import { databaseError } from '../../core/db.ts';
import { createLeasedWorker, type LeasedWorker } from '../../core/jobs.ts';
import type { OpenLog } from '../logs/log-sink.ts';
import { applyPlannedTables, undoAppliedTables } from './apply-tables.ts';
import { buildDeployment, secretValues, storedEnvironment } from './build-deployment.ts';
import {
  type ClaimedWork,
  DeploymentFailure,
  deleteWorkFolder,
  endDeployment,
  LeaseLost,
  loadClaimedRow,
  toDeploymentFailure,
} from './claimed-work.ts';
import { loadDeployedApp } from './deployment-record.ts';
import { findAdvice } from './failure-advice.ts';
import type { Instances } from './instances.ts';
import {
  beginRelease,
  releaseInstances,
  releaseStatic,
  releaseWithTimeout,
  runReleaseCommand,
} from './release-deployment.ts';
import { attemptsMax, type BuiltSite, busyTenants, type DeploymentDeps, renewEveryMs } from './rules.ts';
import type { DeploymentRow } from './store.ts';
import {
  type Claim,
  claimDeployment,
  hasOpenDeployment,
  markLogComplete,
  releaseLease,
  renewLease,
} from './work-store.ts';

/**
 * The lifecycle of a deployment, `svc.deployments.state`:
 *
 *   queued    → building             claimed by a worker (claimDeployment)
 *   building  → built                source fetched and built
 *   built     → releasing            after its release command; the app is locked against cancelation and archiving
 *   built     → canceled | skipped   requested meanwhile, or something newer is live
 *   releasing → live                 healthy, and in place of what was live before
 *
 * Every step can end in `failed`; before `releasing`, a cancelation ends in `canceled`. A site whose release needs a review
 * keeps the state `built` in the phase `releasing` and ends there. Another deployment that needs a review ends as `built`
 * and is opened again by the approval (`reviews.ts`). When a lease is lost the state stays, and the next claim
 * resumes with it.
 */
const transitions: Readonly<Record<Phase, { step: Step; next: readonly (Phase | 'ended')[] }>> = {
  building: { step: build, next: ['built', 'releasing'] },
  built: { step: prepareRelease, next: ['releasing', 'ended'] },
  releasing: { step: release, next: ['ended'] },
};

type Phase = 'building' | 'built' | 'releasing';

interface Progress {
  row: DeploymentRow;
  site: BuiltSite | null;
}

type Step = (work: ClaimedWork, progress: Progress) => Promise<Phase | 'ended'>;

async function build(work: ClaimedWork, progress: Progress) {
  Object.assign(progress, await buildDeployment(work, progress.row));
  return progress.row.state as Phase;
}

async function prepareRelease(work: ClaimedWork, progress: Progress) {
  let released = await beginRelease(work);
  if (typeof released !== 'string') await applyPlannedTables(work, released);
  if (typeof released !== 'string' && released.step === 'release') {
    await runReleaseCommand(work, released);
    released = await beginRelease(work, { isReleaseCommandDone: true });
  }
  if (released === 'built') {
    work.log.sink('platform', 'Other people can see the app: an admin must approve this deployment first.');
    await endUnreleased(work, { state: 'built', releaseId: null });
    return 'ended';
  }
  if (typeof released === 'string') {
    await endUnreleased(work, { state: released });
    return 'ended';
  }
  progress.row = released;
  return 'releasing';
}

async function endUnreleased(work: ClaimedWork, ending: Parameters<typeof endDeployment>[1]): Promise<void> {
  await undoAppliedTables(work);
  await endDeployment(work, ending);
}

async function release(work: ClaimedWork, { row, site }: Progress) {
  await releaseWithTimeout(work, row, (limited) =>
    row.method === 'static' ? releaseStatic(limited, row, site) : releaseInstances(limited, row),
  );
  return 'ended' as const;
}

async function runSteps(work: ClaimedWork): Promise<void> {
  const row = await loadClaimedRow(work);
  if (row.attempts > attemptsMax)
    throw new DeploymentFailure(
      'lost',
      row.step ?? 'build',
      `The server stopped ${attemptsMax} times while it worked on this deployment.`,
    );
  if (row.attempts > 1) work.log.sink('platform', 'Resumed: another server process stopped responding.');
  if (row.cancel_asked && row.state !== 'releasing') return endUnreleased(work, { state: 'canceled' });
  const progress: Progress = { row, site: null };
  // The files of a site exist only where they were built: a resumed release of a site builds again and keeps its state.
  const needsFiles = row.method === 'static' && row.source !== 'artifact';
  let phase: Phase | 'ended' = needsFiles ? 'building' : (row.state as Phase);
  while (phase !== 'ended') {
    if (phase !== 'building') work.releaseBuildSlot();
    const { step, next }: (typeof transitions)[Phase] = transitions[phase];
    const nextPhase = await step(work, progress);
    if (!next.includes(nextPhase)) throw new Error(`A deployment cannot go from ${phase} to ${nextPhase}.`);
    phase = nextPhase;
  }
}

/** An error that this throws leaves the deployment in its state, for the next claim. */
async function runDeployment(work: ClaimedWork): Promise<void> {
  const { deps, claimed, log } = work;
  try {
    await runSteps(work);
  } catch (error) {
    if (error instanceof LeaseLost) return;
    if (work.canceled.aborted) {
      log.sink('platform', 'Canceled.');
      return await endUnreleased(work, { state: 'canceled' });
    }
    work.signal.throwIfAborted();
    // An unavailable database is not a failure of the deployment.
    if (databaseError(error)) throw error;
    const known = toDeploymentFailure(error);
    if (!known) deps.log.error({ err: error, deployment: claimed.id }, 'deployment failed internally');
    const { step } = await loadClaimedRow(work);
    const failure =
      known ??
      new DeploymentFailure('internal', step ?? 'build', 'An internal error; the server log has details.');
    if (failure.lines.length > 0) log.sink('platform', 'The last lines of the app:');
    for (const line of failure.lines) log.sink('stdout', line);
    const { slug } = await loadDeployedApp(deps.db, claimed);
    const advice = findAdvice(isInLog(failure) ? log.last() : failure.lines, { app: slug });
    if (advice !== null) failure.message += ` ${advice}`;
    log.sink('platform', `Failed: ${failure.message}`);
    await endUnreleased(work, { state: 'failed', failure });
  } finally {
    await deleteWorkFolder(deps.workDir, claimed);
  }
}

/** The lines of the app's instances are in another log. */
const isInLog = ({ step }: DeploymentFailure) => step === 'build' || step === 'release';

interface DeploymentWorker extends LeasedWorker {
  checkCancelations(): Promise<void>;
}

const pollMs = 1_000;

export function createDeploymentWorker(deps: DeploymentDeps, instances: Instances): DeploymentWorker {
  const { db, log, concurrencyMax } = deps;
  const cancels = new Map<Claim, AbortController>();
  const stopping = new AbortController();
  const building = new Set<Claim>();
  const claims = new Set<Claim>();
  /** By deployment: after a time without the database, this process may claim its own deployment again. */
  const running = new Map<string, { leave: AbortController; done: Promise<void> }>();

  const renew = async (claimed: Claim): Promise<boolean> => {
    const lease = await renewLease(db, claimed);
    if (lease === 'cancel_asked') cancels.get(claimed)?.abort(new Error('The deployment was canceled.'));
    return lease !== 'lost';
  };

  async function workOn(claimed: Claim, leased: AbortSignal): Promise<void> {
    const cancel = new AbortController();
    cancels.set(claimed, cancel);
    const { appId, id: deploymentId } = claimed;
    let open: OpenLog | null = null;
    try {
      const secrets = secretValues(await storedEnvironment({ deps, claimed }));
      open = deps.logs.open({ appId, deploymentId, source: 'build', secrets });
      await runDeployment({
        deps,
        instances,
        claimed,
        log: open,
        signal: AbortSignal.any([leased, cancel.signal]),
        canceled: cancel.signal,
        releaseBuildSlot: () => {
          if (building.delete(claimed)) worker.wake();
        },
      });
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
    } finally {
      cancels.delete(claimed);
      await open?.close();
      if (open) await markLogComplete(db, deploymentId).catch(() => {});
      if (stopping.signal.aborted) await releaseLease(db, claimed).catch(() => {});
    }
  }

  const worker: LeasedWorker = createLeasedWorker<Claim>({
    name: 'deployments',
    log,
    concurrencyMax: concurrencyMax.all,
    pollMs,
    renewMs: renewEveryMs,
    renew,
    async claim() {
      const claimed = await claimDeployment(db, {
        required: building.size < concurrencyMax.builds ? 'all' : 'built',
        excludedTenants: busyTenants([...claims], concurrencyMax.all),
      });
      if (!claimed) return null;
      claims.add(claimed);
      if (claimed.needsBuild) building.add(claimed);
      return claimed;
    },
    hasOpenWork: () => hasOpenDeployment(db),
    async work(claimed, leased) {
      const earlier = running.get(claimed.id);
      const leave = new AbortController();
      const done = (async () => {
        // Two runs of one deployment would delete each other's files.
        earlier?.leave.abort(new LeaseLost());
        await earlier?.done.catch(() => {});
        await workOn(claimed, AbortSignal.any([leased, leave.signal]));
      })();
      running.set(claimed.id, { leave, done });
      try {
        await done;
      } finally {
        claims.delete(claimed);
        building.delete(claimed);
        if (running.get(claimed.id)?.done === done) running.delete(claimed.id);
      }
    },
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
