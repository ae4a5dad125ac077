import type { Invalidation } from '../../core/invalidation.ts';
import { createLeasedWorker, type LeasedWorker } from '../../core/jobs.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { Failure } from '../../core/problem.ts';
import { canonicalJson, sha256 } from '../../core/values.ts';
import { RepositoryError } from '../../drivers/git/git-host.ts';
import { GitError } from '../../drivers/git/run-git.ts';
import {
  attemptsMax,
  type BootstrapDeps,
  type ClassifiedFailure,
  classify,
  nextStep,
  retryDelaySeconds,
  type StepName,
  workTag,
} from './rules.ts';
import { endRun, type RunResult } from './runs.ts';
import { seedRepo } from './seed-repo.ts';
import { ClaimLost, loadCreator, runAsCreator, type Step, type StepEnd, StepError } from './step.ts';
import { authorize, connect, createRepo, firstDeploy, reserveApp } from './steps.ts';
import {
  type Claim,
  claimRun,
  findRun,
  hasOpenRun,
  listUnapprovedRuns,
  lockClaimedRun,
  lockRun,
  type Run,
  releaseClaim,
  renewClaim,
  type StepRow,
  updateStepRow,
} from './store.ts';

/**
 * The lifecycle of a bootstrap run. `svc.bootstrap_runs.state` and its transitions:
 *
 *   awaiting_approval → running    the user's git account was linked (runs.ts)
 *   awaiting_approval → failed     the device code was denied or expired (failUnapprovedRuns)
 *   awaiting_approval → canceled   by the user, or by a new run with the same slug
 *   running           → done       all steps are done
 *   running           → failed     a step failed for good (handleFailure)
 *   running           → canceled   requested by the user, between two steps
 *
 * Steps run in the order of `bootstrapSteps`, each `waiting → running → done | failed`. A step that fails temporarily goes
 * back to `waiting` and is retried; a `running` step with an output waits for something outside and is checked again.
 */

export async function workOnRun(deps: BootstrapDeps, claim: Claim, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const pause = await advance(deps, claim, signal);
      if (pause === 'ended') return;
      if (pause !== 'next') return await releaseClaim(deps.db, claim, pause);
    }
  } catch (error) {
    if (error instanceof ClaimLost) return;
    // This process is stopping: another one can take the run over at once.
    if (signal.aborted) await releaseClaim(deps.db, claim, { afterSeconds: 0 });
    else throw error;
  }
}

type Pause = 'ended' | 'next' | { afterSeconds: number };

async function advance(deps: BootstrapDeps, claim: Claim, signal: AbortSignal): Promise<Pause> {
  const run = await findRun(deps.db, claim.tenantId, claim.runId);
  if (!run || run.lease_holder !== claim.holder) throw new ClaimLost();
  if (run.cancel_asked) return finish(deps, claim, { state: 'canceled' });
  const name = nextStep(run.steps);
  if (name === null) return finish(deps, claim, { state: 'done' });
  try {
    return await runStep(deps, claim, name, signal);
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost) throw error;
    return await handleFailure(deps, claim, name, error);
  }
}

async function runStep(deps: BootstrapDeps, claim: Claim, name: StepName, signal: AbortSignal) {
  const started = await beginStep(deps, claim, name);
  const finish = await steps[name]({ deps, ...started, signal });
  signal.throwIfAborted();
  // Checked again: the creator may have lost the membership during the step.
  return runAsCreator(deps, claim, await loadCreator(deps.db, started.run), async (ctx, run) => {
    const ended = await finish(ctx);
    await updateStepRow(ctx.db, run.id, name, stepResult(ended, ctx.now));
    if (ended.state === 'running') return { afterSeconds: ended.againAfterSeconds };
    if (nextStep(run.steps.map((step) => (step.name === name ? { name, state: 'done' } : step))) !== null)
      return 'next';
    await endRun(ctx, run, { state: 'done' });
    return 'ended';
  });
}

function stepResult(ended: StepEnd, now: Date): Partial<StepRow> {
  const { state, output, detail } = ended;
  return { state, output, detail, ...(state === 'done' ? { ended_at: now } : {}) };
}

async function beginStep(deps: BootstrapDeps, claim: Claim, name: StepName) {
  const before = await findRun(deps.db, claim.tenantId, claim.runId);
  if (!before) throw new ClaimLost();
  const creator = await loadCreator(deps.db, before);
  const run = await runAsCreator(deps, claim, creator, async (ctx, locked) => {
    const step = locked.steps.find((each) => each.name === name);
    if (!step) throw new Error(`The run has no step ${name}.`);
    // A step that waits for something outside is checked again, not restarted.
    if (step.state === 'running' && step.output !== null) return locked;
    if (step.attempts >= attemptsMax)
      throw new StepError('internal', `The step was started ${attemptsMax} times and never finished.`);
    const set = {
      state: 'running' as const,
      attempts: step.attempts + 1,
      input_hash: step.input_hash ?? inputHash(locked, name),
      started_at: step.started_at ?? ctx.now,
    };
    await updateStepRow(ctx.db, locked.id, name, set);
    return { ...locked, steps: locked.steps.map((each) => (each === step ? { ...step, ...set } : each)) };
  });
  return { run, creator };
}

function inputHash(run: Run, name: StepName): string {
  const outputs = run.steps.map((step) => step.output);
  return sha256(canonicalJson({ name, input: run.input_hash, outputs }));
}

async function handleFailure(deps: BootstrapDeps, claim: Claim, name: StepName, error: unknown) {
  const { code, detail, isTemporary } = classifyError(error);
  const about = { err: error, run: claim.runId, step: name };
  if (code === 'internal') deps.log.error(about, 'bootstrap step failed');
  else deps.log.info({ ...about, err: undefined, code, detail }, 'bootstrap step rejected');
  return changeRun(deps, claim, async (ctx, run) => {
    const failures = (run.steps.find((step) => step.name === name)?.failures ?? 0) + 1;
    const afterSeconds = isTemporary ? retryDelaySeconds(failures) : null;
    if (afterSeconds === null) {
      await endRun(ctx, run, { state: 'failed', step: name, failure: { code, detail } });
      return 'ended';
    }
    await updateStepRow(ctx.db, run.id, name, { state: 'waiting', failures, detail });
    return { afterSeconds };
  });
}

function finish(deps: BootstrapDeps, claim: Claim, ending: RunResult): Promise<Pause> {
  return changeRun(deps, claim, async (ctx, run) => {
    await endRun(ctx, run, ending);
    return 'ended';
  });
}

function changeRun(
  deps: BootstrapDeps,
  claim: Claim,
  useCase: (ctx: Parameters<typeof endRun>[0], run: Run) => Promise<Pause>,
): Promise<Pause> {
  const named = { name: 'bootstraps.work', auditTenantId: claim.tenantId, requestId: claim.runId };
  return runAsOperator(deps, named, async (ctx) => {
    const run = await lockClaimedRun(ctx.db, claim);
    if (!run) throw new ClaimLost();
    return useCase(ctx, run);
  });
}

const steps: Readonly<Record<StepName, Step>> = {
  authorize,
  reserve_app: reserveApp,
  create_repo: createRepo,
  seed_repo: seedRepo,
  connect,
  first_deploy: firstDeploy,
};

async function failUnapprovedRuns(deps: BootstrapDeps): Promise<void> {
  for (const { id, tenant_id } of await listUnapprovedRuns(deps.db)) {
    await runAsOperator(deps, { name: 'bootstraps.expire', auditTenantId: tenant_id }, async (ctx) => {
      const run = await lockRun(ctx.db, tenant_id, id);
      if (run?.state !== 'awaiting_approval') return;
      const failure = run.is_denied
        ? ({ code: 'access_denied', detail: 'The code was denied at the git host.' } as const)
        : ({ code: 'device_code_expired', detail: 'The code was not approved in time.' } as const);
      await endRun(ctx, run, { state: 'failed', step: 'authorize', failure });
    });
  }
}

/** Maps an error to a failure code of the run. Messages of internal errors appear only in the log. */
function classifyError(error: unknown): ClassifiedFailure {
  if (error instanceof StepError) return { code: error.code, isTemporary: false, detail: error.message };
  if (error instanceof Failure) return classify(error.code, error.detail ?? error.message);
  if (error instanceof RepositoryError) return classify(error.reason, error.message);
  if (error instanceof GitError)
    return classify(error.reason === 'unreachable' ? 'unreachable' : 'push_rejected', error.message);
  return classify(null, 'An internal error of the server.');
}

const concurrencyMax = 4;
const pollMs = 1_000;
const renewMs = 5_000;

export function createBootstrapWorker(
  deps: BootstrapDeps,
  { invalidation }: { invalidation?: Pick<Invalidation, 'onChange'> } = {},
): LeasedWorker {
  const worker = createLeasedWorker({
    name: 'bootstraps',
    log: deps.log,
    claim: async () => {
      const claim = await claimRun(deps.db);
      if (!claim) await failUnapprovedRuns(deps);
      return claim;
    },
    hasOpenWork: () => hasOpenRun(deps.db),
    renew: (claim) => renewClaim(deps.db, claim),
    work: (claim, signal) => workOnRun(deps, claim, signal),
    concurrencyMax,
    pollMs,
    renewMs,
  });
  invalidation?.onChange((tag) => {
    // Null means that notifications may have been missed.
    if (tag === workTag || tag === null) worker.wake();
  });
  return worker;
}
