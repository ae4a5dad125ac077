import { getApp } from '@svc/contract/apps.ts';
import type { Deployment } from '@svc/contract/deployments.shapes.ts';
import { deploymentEndStates, getDeployment, listDeployments } from '@svc/contract/deployments.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { z } from 'zod';
import { type LifecycleApp, lifecycleResult } from '../apps/lifecycle.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { detectStyle } from '../output/render.ts';
import { WorkFailedError } from '../session/problems.ts';
import { resolveTenant } from '../session/tenant.ts';
import { isTransient, pause } from '../session/waiting.ts';
import { deploymentView } from '../views/delivery.ts';
import { findDeploymentId } from './find-deployment.ts';
import { followLog, type LogEntry, type LogSource, logLines, logLineText } from './logs.ts';

const pollMs = 500;
const lastLinesMax = 20;

export interface FollowInput {
  tenantID: string;
  app: string;
  deployment: DeploymentRecord;
  log: 'shown' | 'unseen';
}

export async function waitForDeployment(
  ctx: Ctx,
  { app, deployment: ref }: { app: string; deployment: string },
): Promise<Result> {
  const tenantID = await resolveTenant(ctx);
  const client = await ctx.client();
  const id = await findDeploymentId(ctx, { tenantID, app, deployment: ref });
  const deployment = await client.call(getDeployment, { params: { tenantID, app, deployment: id } });
  const result = await followDeployment(ctx, { tenantID, app, deployment, log: 'unseen' });
  if (result.failed instanceof WorkFailedError) await printLogEnd(ctx, { tenantID, app, deployment });
  return result;
}

/** Best effort: the end of the log explains a failure, but the wait has its result without it. */
async function printLogEnd(ctx: Ctx, { tenantID, app, deployment }: Omit<FollowInput, 'log'>): Promise<void> {
  const source = { log: 'build', tenantID, app, deployment: deployment.id } as const;
  try {
    for await (const lines of logLines(ctx, source, { tail: lastLinesMax, until: 'there' }))
      await printLastLines(ctx, lines);
  } catch (cause) {
    if (ctx.signal.aborted) throw cause;
  }
}

/** The log of a failed build is all there, so it is shown before the failure. */
export async function followBuildLog(
  ctx: Ctx,
  source: LogSource & { log: 'build' },
  tail: number | undefined,
): Promise<Result> {
  const { exit, failed, ...result } = await followLog(ctx, source, tail);
  if (exit !== undefined || failed !== undefined) return { ...result, exit, failed };
  const { tenantID, app, deployment } = source;
  const ended = await (await ctx.client()).call(getDeployment, { params: { tenantID, app, deployment } });
  return { ...result, failed: deploymentOutcome(ended, { app, before: 'unknown' }).failed };
}

export async function followDeployment(ctx: Ctx, followed: FollowInput): Promise<Result> {
  const { app, deployment } = followed;
  const seen: LogEntry[] = [];
  try {
    if (followed.log === 'shown') {
      if (deployment.state === 'queued') await waitForState(ctx, followed, ({ state }) => state !== 'queued');
      await streamBuildLog(ctx, followed, seen);
    }
    const ended = await waitForState(ctx, followed, (now) => followed.log === 'shown' || hasEnded(now));
    const before = ended.state === 'failed' && (await isStillLive(ctx, followed)) ? 'live' : 'unknown';
    const { note, ...ending } = deploymentOutcome(ended, { app, before });
    if (ending.failed !== undefined && ctx.globals.quiet) await printLastLines(ctx, seen);
    if (note !== null) ctx.note(note);
    return { value: ended, view: deploymentView, ...ending };
  } catch (cause) {
    if (!(cause instanceof CliError) || !ctx.signal.aborted) throw cause;
    const name = `Deployment #${deployment.seq}`;
    const look = `svc deployments logs ${deployment.id} --app ${sanitize(app)} --follow`;
    if (cause.code === 'interrupted')
      throw new CliError('interrupted', `Interrupted. ${name} continues on the server.`, {
        next: `Follow it with ${look}, or cancel it with svc deployments cancel ${deployment.id} --app ${sanitize(app)} --execute`,
        cause,
      });
    const late = `${name} has not ended after ${ctx.globals.timeoutMs / 1000}s; it continues.`;
    const failed = new CliError('wait_timeout', late, { next: `Follow it with ${look}`, cause });
    return { value: deployment, view: deploymentView, failed };
  }
}

async function streamBuildLog(
  ctx: Ctx,
  { tenantID, app, deployment }: FollowInput,
  seen: LogEntry[],
): Promise<void> {
  const style = { ...(await detectStyle(ctx.io)), colour: false };
  const source = { log: 'build', tenantID, app, deployment: deployment.id } as const;
  for await (const lines of logLines(ctx, source, { tail: undefined, until: 'ended' })) {
    for (const line of lines) ctx.say(logLineText(line, style).trimEnd());
    seen.push(...lines);
    seen.splice(0, Math.max(0, seen.length - lastLinesMax));
  }
}

async function waitForState(
  ctx: Ctx,
  { tenantID, app, deployment }: FollowInput,
  isReached: (now: DeploymentRecord) => boolean,
): Promise<DeploymentRecord> {
  const client = await ctx.client();
  const params = { tenantID, app, deployment: deployment.id };
  let position: number | null = null;
  for (;;) {
    const now = await client.call(getDeployment, { params }).catch((cause: unknown) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (!isTransient(cause)) throw cause;
      return null;
    });
    if (now !== null && isReached(now)) return now;
    if (now?.queue_position && now.queue_position !== position) {
      position = now.queue_position;
      ctx.say(`Queued: position ${position}.`);
    }
    await pause(ctx, pollMs);
  }
}

async function isStillLive(ctx: Ctx, { tenantID, app, deployment }: FollowInput): Promise<boolean> {
  if (deployment.kind === 'resume') return false;
  const client = await ctx.client();
  const input = { params: { tenantID, app }, query: { state: 'live' as const, per_page: 1 } };
  return client.call(listDeployments, input).then(
    ({ items }) => items.length > 0,
    () => false,
  );
}

function hasEnded({ state, ended_at }: DeploymentRecord): boolean {
  return ended_at !== null || (deploymentEndStates as readonly string[]).includes(state);
}

async function printLastLines(ctx: Ctx, lines: readonly LogEntry[]): Promise<void> {
  const style = { ...(await detectStyle(ctx.io)), colour: false };
  for (const line of lines) ctx.io.err(logLineText(line, style));
}

export type DeploymentRecord = z.output<typeof Deployment>;

export interface DeploymentOutcome {
  exit?: ExitCode;
  failed?: Error;
  note: string | null;
}

type Failure = NonNullable<DeploymentRecord['failure']>;

const failureAdvice: Partial<Record<Failure['code'], (id: string, of: string, failed: Failure) => string>> = {
  source_unavailable: (_, of) => `Check --ref and the repository; svc apps git status ${of} shows it.`,
  health_check_failed: (id, of) => `svc logs ${of} --deployment ${id} shows the log of the app.`,
  release_timeout: (id, of) => `svc logs ${of} --deployment ${id} shows the log of the app.`,
  runtime_unsupported: (_, of, { step, detail }) => {
    if (step !== 'detect') return `Deploy it again: svc deploy ${of} --execute`;
    return detail.includes('Dockerfile')
      ? 'Add a start command to svc.yaml, such as start: node server.js, and deploy again; then no Dockerfile is needed. Containers need SVC_RUNTIME=docker, which only the operator can set.'
      : 'Change what the message names and deploy again; only the operator can choose another runtime (SVC_RUNTIME).';
  },
  lost: (_, of) => `Deploy it again: svc deploy ${of} --execute`,
  internal: (id) => `Report the deployment id ${id} to the operator.`,
};

export function deploymentOutcome(
  deployment: DeploymentRecord,
  { app, before }: { app: string; before: 'live' | 'unknown' },
): DeploymentOutcome {
  const { id, seq, state, failure } = deployment;
  const name = `Deployment #${seq}`;
  const of = `--app ${sanitize(app)}`;
  const refused = reviewRefusal(deployment, of);
  if (refused !== null) return { failed: refused, note: null };
  switch (state) {
    case 'failed': {
      const why = failure === null ? 'unknown reason' : failure.detail.replace(/\.$/, '') || failure.code;
      const at = failure === null ? '' : ` at ${failure.step}`;
      const still = before === 'live' ? ' The previous deployment is still live.' : '';
      const next = failure === null ? undefined : failureAdvice[failure.code]?.(id, of, failure);
      const failed = new WorkFailedError(
        failure?.code ?? 'internal',
        `${name} failed${at}: ${why}.${still}`,
        next ?? `svc deployments logs ${id} ${of} shows the build log.`,
      );
      return { failed, note: null };
    }
    case 'canceled': {
      const next = `svc deployments get ${id} ${of} shows its progress.`;
      return { failed: new CliError('canceled', `${name} was canceled.`, { next }), note: null };
    }
    case 'skipped': {
      const next = `svc deployments list ${of} shows it.`;
      const why = `${name} was skipped because of a newer one.`;
      return { failed: new CliError('skipped', why, { next }), note: null };
    }
    case 'superseded':
      return { note: `${name} was live and has been superseded by a newer one.` };
    case 'built': {
      const next = `svc review history ${of}`;
      return {
        exit: 11,
        note: `${name} is built and waits for a review; what was live before stays live. Next: an admin approves it; ${next} shows the request.`,
      };
    }
    default:
      return { note: null };
  }
}

/** Null: the deployment needs no review, waits for one, or ended for another reason. */
function reviewRefusal({ seq, state, review }: DeploymentRecord, of: string): Error | null {
  if (state !== 'built' && state !== 'canceled') return null;
  const result = review && refusals.get(review.status);
  if (!result) return null;
  const why = review.reason === '' ? '' : `: ${sanitize(review.reason).replace(/\.$/, '')}`;
  return new WorkFailedError(
    `review_${review.status}`,
    `Deployment #${seq} ${result}${why}. What was live before stays live.`,
    `svc review show ${review.id} shows the request. Change the app and deploy it again: svc deploy ${of} --execute`,
  );
}

const refusals = new Map<string, string>([
  ['rejected', 'was rejected in its review'],
  ['withdrawn', 'is not live because the request for its review was withdrawn'],
  ['superseded', 'is not live because a newer release replaced it in the review'],
  ['expired', 'is not live because nobody decided about it in time'],
]);

export async function waitForResume(
  ctx: Ctx,
  result: Result,
  params: { tenantID: string; app: string },
): Promise<Result> {
  if (!isApp(result.value)) return result;
  if (result.value.runtime !== 'suspended') {
    lifecycleResult.present(ctx, result.value);
    return result;
  }
  const client = await ctx.client();
  const query = { page: 1, per_page: 1 };
  const [deployment] = (await client.call(listDeployments, { params, query })).items;
  if (deployment?.kind !== 'resume') return result;
  ctx.say(`Waiting for deployment #${deployment.seq}.`);
  // A tenant admin may resume an app without access to its log.
  const { exit, failed } = await followDeployment(ctx, { ...params, deployment, log: 'unseen' });
  const now = await client.call(getApp, { params }).catch(() => null);
  const app: LifecycleApp = { ...result.value, ...now };
  lifecycleResult.present(ctx, app);
  return {
    ...result,
    value: app,
    text: () => lifecycleResult.text(app),
    exit,
    failed,
  };
}

function isApp(value: unknown): value is LifecycleApp {
  return typeof value === 'object' && value !== null && 'runtime' in value;
}
