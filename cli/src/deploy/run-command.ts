import type { Run } from '@svc/contract/runs.shapes.ts';
import {
  cancelRun,
  createRun,
  getRun,
  runEndStates,
  runLogBytesMax,
  runLogLinesMax,
  runSchedule,
  runTimeoutSecondsMax,
} from '@svc/contract/runs.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { mutate } from '../mutation.ts';
import { detectStyle } from '../output/render.ts';
import { WorkFailedError } from '../session/problems.ts';
import { resolveTenant } from '../session/tenant.ts';
import { runView } from '../views/delivery.ts';
import { followLog, type LogEntry, logLines, safeText } from './logs.ts';

type RunRecord = z.output<typeof Run>;
type AppParams = { tenantID: string; app: string };

/** One argument is a line for the shell; several are a program and its arguments. */
export function commandLine(words: readonly string[]): string {
  const [only = '', ...others] = words;
  return others.length === 0 ? only : words.map(quote).join(' ');
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export async function runCommand(
  ctx: Ctx,
  { app, words }: { app: string; words: readonly string[] },
): Promise<Result> {
  const timeout_seconds = Math.ceil(ctx.globals.timeoutMs / 1_000);
  if (timeout_seconds > runTimeoutSecondsMax) throw usageError('--timeout is at most 24h.');
  const params = { tenantID: await resolveTenant(ctx), app };
  const client = await ctx.client();
  const body = { command: commandLine(words), timeout_seconds };
  ctx.io.allowAfterInterrupt(createMsMax + 2 * stopMsMax);
  ctx.signal.throwIfAborted();
  // Ctrl-C and --timeout do not end this request: without its answer, a running command could not be stopped.
  const signal = AbortSignal.timeout(createMsMax);
  const idempotencyKey = crypto.randomUUID();
  const run = await client.call(createRun, { params, body }, { idempotencyKey, signal });
  return followRun(ctx, params, run).catch((cause: unknown) => stopRun(ctx, { params, run, cause }));
}

export async function startSchedule(
  ctx: Ctx,
  { app, name, until }: { app: string; name: string; until: 'started' | 'ended' },
): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app };
  const result = await mutate(ctx, runSchedule, { params: { ...params, name } }, { view: runView });
  if (ctx.mutation.mode === 'preview' || until === 'started') return result;
  return followRun(ctx, params, result.value as RunRecord);
}

/** Shows the output as it comes, both streams where they belong. With --json all of it is on standard error. */
async function followRun(ctx: Ctx, params: AppParams, run: RunRecord): Promise<Result> {
  const isTable = ctx.globals.format === 'table';
  await printOutput(ctx, { params, run, stdout: isTable ? 'stdout' : 'stderr' });
  const ended = await (await ctx.client()).call(getRun, { params: { ...params, run: run.id } });
  noteMissingLines(ctx, ended);
  return { value: ended, view: runView, ...(isTable && { printed: true }), ...runOutcome(ended, params) };
}

async function printOutput(
  ctx: Ctx,
  { params, run, stdout }: { params: AppParams; run: RunRecord; stdout: 'stdout' | 'stderr' },
): Promise<void> {
  const plain = { ...(await detectStyle(ctx.io)), colour: false };
  const isTerminal = {
    stdout: await ctx.io.isTerminal('stdout'),
    stderr: await ctx.io.isTerminal('stderr'),
  };
  const textOf = (line: LogEntry, to: 'stdout' | 'stderr') =>
    `${isTerminal[to] ? safeText(line.text, { ...plain, colour: true }) : line.text}\n`;
  const source = { log: 'run', ...params, run: run.id } as const;
  for await (const lines of logLines(ctx, source, { tail: undefined, until: 'ended' }))
    for (const line of lines) {
      const to = line.stream === 'stdout' ? stdout : 'stderr';
      if (to === 'stdout') await ctx.io.out(textOf(line, to));
      else if (line.stream !== 'platform' || !ctx.globals.quiet) ctx.io.err(textOf(line, to));
    }
}

function noteMissingLines(ctx: Ctx, { lines_missing: count }: RunRecord): void {
  if (count === 0) return;
  const limit = `${runLogLinesMax} lines or ${runLogBytesMax / 1024 / 1024} MiB`;
  ctx.note(
    `${count} lines of the output are missing: the log of a run has at most ${limit}. Write a larger output to a file of the app's storage.`,
  );
}

function runOutcome(run: RunRecord, { app }: AppParams): Pick<Result, 'exit' | 'failed'> {
  const look = `svc runs get ${run.id} --app ${sanitize(app)} shows it.`;
  switch (run.state) {
    case 'canceled':
      return { failed: new CliError('canceled', 'The run was canceled.', { next: look }) };
    case 'failed':
    case 'missed':
    case 'skipped':
      // The output of the command says what is wrong.
      if (run.exit_code !== null && run.exit_code !== 0) return { exit: run.exit_code };
      return { failed: new WorkFailedError('run_failed', run.failure ?? 'The run failed.', look) };
    default:
      return {};
  }
}

const createMsMax = 60_000;
const stopMsMax = 20_000;

/** At Ctrl-C the command is canceled. At the end of --timeout the server ends it, which has the same limit. */
async function stopRun(
  ctx: Ctx,
  { params, run, cause }: { params: AppParams; run: RunRecord; cause: unknown },
): Promise<Result> {
  if (!ctx.signal.aborted || !(cause instanceof CliError)) throw cause;
  const one = { params: { ...params, run: run.id } };
  const isStopped = (cause.code === 'timeout' && (await hasEnded(ctx, one))) || (await cancel(ctx, one));
  const how = isStopped ? 'The command is stopped.' : 'The command may still run.';
  const next = `See svc runs get ${run.id} --app ${sanitize(params.app)}`;
  if (cause.code === 'interrupted') throw new CliError('interrupted', `Interrupted. ${how}`, { next, cause });
  const after = `The command has not ended after ${ctx.globals.timeoutMs / 1000}s. ${how}`;
  throw new CliError('wait_timeout', after, { next, cause });
}

type OneRun = { params: AppParams & { run: string } };

async function cancel(ctx: Ctx, one: OneRun): Promise<boolean> {
  const client = await ctx.client();
  return client.call(cancelRun, one, { signal: AbortSignal.timeout(stopMsMax) }).then(
    () => hasEnded(ctx, one),
    () => false,
  );
}

/** Waits for the end, also after Ctrl-C. */
async function hasEnded(ctx: Ctx, one: OneRun): Promise<boolean> {
  const client = await ctx.client();
  const signal = AbortSignal.timeout(stopMsMax);
  for (; !signal.aborted; await Bun.sleep(200)) {
    const run = await client.call(getRun, one, { signal }).catch(() => null);
    if (run && (runEndStates as readonly string[]).includes(run.state)) return true;
  }
  return false;
}

export async function followRunLog(
  ctx: Ctx,
  { params, run, tail }: { params: AppParams; run: string; tail: number | undefined },
): Promise<Result> {
  const { exit, failed, ...result } = await followLog(ctx, { log: 'run', ...params, run }, tail);
  if (exit !== undefined || failed !== undefined) return { ...result, exit, failed };
  const ended = await (await ctx.client()).call(getRun, { params: { ...params, run } });
  noteMissingLines(ctx, ended);
  return { ...result, ...runOutcome(ended, params) };
}
