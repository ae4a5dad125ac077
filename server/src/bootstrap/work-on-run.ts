import { canonicalJson, sha256 } from '../plumbing/canonical.ts';
import { asOperator } from '../plumbing/operator.ts';
import { asCreator, creatorOf } from './as-creator.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { type Claim, releaseClaim } from './claim-store.ts';
import { type Ending, endRun } from './end-run.ts';
import { judgeError } from './judge-error.ts';
import { attemptsMax, backOffSeconds, nextStep, type StepName } from './rules.ts';
import { ClaimLost, StepRefused } from './step-refused.ts';
import type { Step, StepEnd } from './step-work.ts';
import { authorize } from './steps/authorize.ts';
import { connect } from './steps/connect.ts';
import { createRepo } from './steps/create-repo.ts';
import { firstDeploy } from './steps/first-deploy.ts';
import { reserveApp } from './steps/reserve-app.ts';
import { seedRepo } from './steps/seed-repo.ts';
import { findRun, lockClaimedRun, type Run, type StepRow, updateStepRow } from './store.ts';

/** Goes on with a run, step by step, until it has ended, has to wait, or is not ours any more. */
export async function workOnRun(parts: BootstrapParts, claim: Claim, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const pause = await goOn(parts, claim, signal);
      if (pause === 'ended') return;
      if (pause !== 'next') return await releaseClaim(parts.db, claim, pause);
    }
  } catch (error) {
    if (error instanceof ClaimLost) return;
    // This copy stops: another need not wait for the lease to run out.
    if (signal.aborted) await releaseClaim(parts.db, claim, { afterSeconds: 0 });
    else throw error;
  }
}

type Pause = 'ended' | 'next' | { afterSeconds: number };

async function goOn(parts: BootstrapParts, claim: Claim, signal: AbortSignal): Promise<Pause> {
  const run = await findRun(parts.db, claim.tenantId, claim.runId);
  if (!run || run.lease_holder !== claim.holder) throw new ClaimLost();
  if (run.cancel_asked) return end(parts, claim, { state: 'canceled' });
  const name = nextStep(run.steps);
  if (name === null) return end(parts, claim, { state: 'done' });
  try {
    return await doStep(parts, claim, name, signal);
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost) throw error;
    return await meetFailure(parts, claim, name, error);
  }
}

async function doStep(
  parts: BootstrapParts,
  claim: Claim,
  name: StepName,
  signal: AbortSignal,
): Promise<Pause> {
  const begun = await begin(parts, claim, name);
  const finish = await stepsByName[name]({ parts, ...begun, signal });
  signal.throwIfAborted();
  // Once more: who was taken out while the step was under way gets nothing by it.
  const creator = await creatorOf(parts.db, begun.run);
  return asCreator(parts, claim, creator, async (ctx, run) => {
    const ended = await finish(ctx);
    await updateStepRow(ctx.db, { runId: run.id, name, set: storedEnd(ended, ctx.now) });
    if (ended.state === 'running') return { afterSeconds: ended.againAfterSeconds };
    if (nextStep(run.steps.map((step) => (step.name === name ? { name, state: 'done' } : step))) !== null)
      return 'next';
    await endRun(ctx, run, { state: 'done' });
    return 'ended';
  });
}

function storedEnd(ended: StepEnd, now: Date): Partial<StepRow> {
  const { state, output, detail } = ended;
  return { state, output, detail, ...(state === 'done' ? { ended_at: now } : {}) };
}

async function begin(parts: BootstrapParts, claim: Claim, name: StepName) {
  const before = await findRun(parts.db, claim.tenantId, claim.runId);
  if (!before) throw new ClaimLost();
  const creator = await creatorOf(parts.db, before);
  const run = await asCreator(parts, claim, creator, async (ctx, held) => {
    const step = held.steps.find((each) => each.name === name);
    if (!step) throw new Error(`The run has no step ${name}.`);
    // One that waits for others is looked at again and not begun anew.
    if (step.state === 'running' && step.output !== null) return held;
    if (step.attempts >= attemptsMax)
      throw new StepRefused('internal', `It was begun ${attemptsMax} times and never ended.`);
    const set = {
      state: 'running' as const,
      attempts: step.attempts + 1,
      input_hash: step.input_hash ?? inputHash(held, name),
      started_at: step.started_at ?? ctx.now,
    };
    await updateStepRow(ctx.db, { runId: held.id, name, set });
    return { ...held, steps: held.steps.map((each) => (each === step ? { ...step, ...set } : each)) };
  });
  return { run, creator };
}

/** Of what the step was given: what was asked for, and what the steps before it left. */
function inputHash(run: Run, name: StepName): string {
  const outputs = run.steps.map((step) => step.output);
  return sha256(canonicalJson({ name, input: run.input_hash, outputs }));
}

async function meetFailure(
  parts: BootstrapParts,
  claim: Claim,
  name: StepName,
  error: unknown,
): Promise<Pause> {
  const { code, detail, isPassing } = judgeError(error);
  const about = { err: error, run: claim.runId, step: name };
  if (code === 'internal') parts.log.error(about, 'a step of a bootstrap met a fault');
  else parts.log.info({ ...about, err: undefined, code, detail }, 'a step of a bootstrap was refused');
  return change(parts, claim, async (ctx, run) => {
    const failures = (run.steps.find((step) => step.name === name)?.failures ?? 0) + 1;
    const afterSeconds = isPassing ? backOffSeconds(failures) : null;
    if (afterSeconds === null) {
      await endRun(ctx, run, { state: 'failed', step: name, failure: { code, detail } });
      return 'ended';
    }
    await updateStepRow(ctx.db, { runId: run.id, name, set: { state: 'waiting', failures, detail } });
    return { afterSeconds };
  });
}

function end(parts: BootstrapParts, claim: Claim, ending: Ending): Promise<Pause> {
  return change(parts, claim, async (ctx, run) => {
    await endRun(ctx, run, ending);
    return 'ended';
  });
}

/** What concerns the run alone; nobody's right is asked for it. */
function change(
  parts: BootstrapParts,
  claim: Claim,
  verb: (ctx: Parameters<typeof endRun>[0], run: Run) => Promise<Pause>,
): Promise<Pause> {
  const named = { name: 'bootstraps.goOn', auditTenantId: claim.tenantId, requestId: claim.runId };
  return asOperator(parts, named, async (ctx) => {
    const run = await lockClaimedRun(ctx.db, claim);
    if (!run) throw new ClaimLost();
    return verb(ctx, run);
  });
}

const stepsByName: Readonly<Record<StepName, Step>> = {
  authorize,
  reserve_app: reserveApp,
  create_repo: createRepo,
  seed_repo: seedRepo,
  connect,
  first_deploy: firstDeploy,
};
