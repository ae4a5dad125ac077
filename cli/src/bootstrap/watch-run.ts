import type { BootstrapRun, startBootstrap } from '@svc/contract/bootstrap.shapes.ts';
import { bootstrapEndStates, getBootstrap } from '@svc/contract/bootstrap.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { pad, truncate } from '../framework/layout.ts';
import { type Style, sanitize, tint } from '../framework/text.ts';
import { requestMs } from '../git-host/approval.ts';
import { detectStyle } from '../output/render.ts';
import { WorkFailedError } from '../session/problems.ts';
import { isTransient, pause, withTimeout } from '../session/waiting.ts';
import { bootstrapView } from '../views/delivery.ts';
import type { WatchOptions } from './flags.ts';

export interface WatchedRun {
  tenantID: string;
  run: RunRecord;
  watch: WatchOptions;
}

export async function watchRun(ctx: Ctx, { tenantID, run: first, watch }: WatchedRun): Promise<Result> {
  const limited = withTimeout(ctx, watch.timeoutMs);
  const display = await startStepDisplay(ctx);
  let run = first;
  try {
    for (display.show(run); !hasEnded(run); display.show(run)) {
      await pause(limited, watch.intervalMs);
      run = (await ignoreTransient(limited, () => readRun(limited, { tenantID, run: run.id }))) ?? run;
    }
  } catch (cause) {
    if (!(cause instanceof CliError) || !limited.signal.aborted) throw cause;
    const look = `svc apps bootstrap-status ${run.id} --watch`;
    if (cause.code === 'interrupted')
      throw new CliError('interrupted', 'Interrupted. The run continues on the server.', {
        next: `Follow it with ${look}, or cancel it with svc apps bootstrap-cancel ${run.id} --execute`,
        cause,
      });
    const seconds = (ctx.signal.aborted ? ctx.globals.timeoutMs : watch.timeoutMs) / 1000;
    const failed = new CliError('wait_timeout', `The run has not ended after ${seconds}s; it continues.`, {
      next: `Follow it with ${look}`,
      cause,
    });
    return { value: run, view: bootstrapView, failed };
  }
  return endedResult(run);
}

export async function readRun(ctx: Ctx, params: { tenantID: string; run: string }): Promise<RunRecord> {
  const client = await ctx.client();
  return client.call(getBootstrap, { params }, { signal: withTimeout(ctx, requestMs).signal });
}

async function ignoreTransient<T>(ctx: Ctx, ask: () => Promise<T>): Promise<T | null> {
  return ask().catch((cause: unknown) => {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    if (!isTransient(cause)) throw cause;
    return null;
  });
}

export function endedResult(run: RunRecord): Result {
  const result = { value: run, view: bootstrapView };
  if (run.state === 'done') return result;
  const next = failureAdvice(run);
  if (run.state === 'canceled')
    return { ...result, failed: new CliError('canceled', 'The run was canceled.', { next }) };
  const why = run.failure === null ? '.' : `: ${run.failure.detail}`;
  const at = run.step === null ? '' : ` at ${run.step}`;
  const code = run.failure?.code ?? 'internal';
  return { ...result, failed: new WorkFailedError(code, `The run failed${at}${why}`, next) };
}

function failureAdvice({ id, slug, deployment_id, undo }: RunRecord): string {
  const look =
    deployment_id === null
      ? `svc apps bootstrap-status ${id} shows its steps.`
      : `svc deployments logs ${deployment_id} --app ${sanitize(slug)} shows the build log.`;
  if (undo.length === 0) return look;
  return [
    `${look} What the run created stays; to undo it:`,
    ...undo.map((line) => `  ${sanitize(line)}`),
  ].join('\n');
}

export function startedRunResult(ctx: Ctx, run: RunRecord): Result {
  if (hasEnded(run)) return endedResult(run);
  ctx.note(`The run continues on the server: svc apps bootstrap-status ${run.id} --watch`);
  return { value: run, view: bootstrapView };
}

export type RunRecord = z.output<typeof BootstrapRun>;
export type StartedRun = z.output<(typeof startBootstrap)['answer']>;

export function hasEnded({ state }: Pick<RunRecord, 'state'>): boolean {
  return (bootstrapEndStates as readonly string[]).includes(state);
}

export interface StepDisplay {
  show(run: RunRecord): void;
}

type Step = RunRecord['steps'][number];

export async function startStepDisplay(ctx: Ctx): Promise<StepDisplay> {
  const { io, globals } = ctx;
  if (globals.quiet) return { show: () => {} };
  const isLive = (await io.isTerminal('stderr')) && io.env.TERM !== 'dumb';
  if (!isLive) return plainLines(ctx);
  const style = {
    ...(await detectStyle(io)),
    colour: !io.env.NO_COLOR,
    width: Number(io.env.COLUMNS) || ((await io.terminalColumns()) ?? 80),
  };
  return livePicture(ctx, style);
}

function plainLines(ctx: Ctx): StepDisplay {
  const printed = new Map<string, string>();
  return {
    show: ({ state, steps }) => {
      if (state === 'awaiting_approval' && !printed.has(''))
        ctx.say('Waiting for your approval at the git host.');
      if (state === 'awaiting_approval') printed.set('', state);
      for (const step of steps) {
        const line = `${step.name}: ${step.state}${step.detail === '' ? '' : ` (${sanitize(step.detail)})`}`;
        if (step.state === 'waiting' || printed.get(step.name) === line) continue;
        printed.set(step.name, line);
        ctx.say(line);
      }
    },
  };
}

/** Truncates each line, because a wrapped line would break the redrawing. */
function livePicture({ io }: Ctx, style: Style & { width: number }): StepDisplay {
  let shown: string[] = [];
  return {
    show: ({ steps }) => {
      const lines = steps.map((step) => stepLine(step, io.now(), style));
      if (lines.length === shown.length && lines.every((line, at) => line === shown[at])) return;
      const up = shown.length === 0 ? '' : `\u001b[${shown.length}A`;
      io.err(`${up}${lines.map((line) => `\r\u001b[K${line}\n`).join('')}`);
      shown = lines;
    },
  };
}

function stepLine(step: Step, now: Date, style: Style & { width: number }): string {
  const took = step.started_at === null ? '' : secondsText(step, now);
  const text = `${pad(step.name, 14)}${pad(took, 6)} ${sanitize(step.detail)}`.trimEnd();
  return `${stepMark(step, style)} ${truncate(text, Math.max(1, style.width - 4), style)}`;
}

/** Negative spans count as 0, because the clocks of server and client may differ. */
function secondsText({ started_at, ended_at }: Step, now: Date): string {
  const end = ended_at === null ? now.getTime() : Date.parse(ended_at);
  return `${Math.max(0, Math.round((end - Date.parse(started_at ?? '')) / 1000))}s`;
}

function stepMark({ state }: Step, style: Style): string {
  switch (state) {
    case 'done':
      return tint(style, 'green', style.unicode ? '✓' : '+');
    case 'failed':
      return tint(style, 'red', style.unicode ? '✗' : 'x');
    case 'running':
      return tint(style, 'yellow', style.unicode ? '…' : '>');
    case 'waiting':
      return tint(style, 'dim', style.unicode ? '·' : '.');
  }
}
