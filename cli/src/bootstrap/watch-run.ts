import { getBootstrap } from '@svc/contract/bootstrap.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, WorkFailed } from '../errors.ts';
import { requestMs } from '../git-host/approval.ts';
import { plain } from '../output.ts';
import { passes } from '../passes.ts';
import { bootstrapView } from '../views/bootstrap.ts';
import { pause, within } from '../waiting.ts';
import { hasEnded, type RunRecord } from './run-record.ts';
import { startStepDisplay } from './step-display.ts';
import type { Watch } from './watch-flags.ts';

export interface WatchedRun {
  tenantID: string;
  run: RunRecord;
  watch: Watch;
}

/** Looks on until a run has ended. It goes on at the server, whatever ends the looking. */
export async function watchRun(ctx: Ctx, { tenantID, run: first, watch }: WatchedRun): Promise<Result> {
  const limited = within(ctx, watch.timeoutMs);
  const display = await startStepDisplay(ctx);
  let run = first;
  try {
    for (display.show(run); !hasEnded(run); display.show(run)) {
      await pause(limited, watch.intervalMs);
      run = (await unlessPassing(limited, () => readRun(limited, { tenantID, run: run.id }))) ?? run;
    }
  } catch (cause) {
    if (!(cause instanceof CliError) || !limited.signal.aborted) throw cause;
    const look = `svc apps bootstrap-status ${run.id} --watch`;
    if (cause.code === 'interrupted')
      throw new CliError('interrupted', 'Interrupted. The run goes on at the server.', {
        next: `Follow it with ${look}, or stop it with svc apps bootstrap-cancel ${run.id} --execute`,
        cause,
      });
    const seconds = (ctx.signal.aborted ? ctx.globals.timeoutMs : watch.timeoutMs) / 1000;
    const failed = new CliError('wait_timeout', `The run did not end within ${seconds}s; it goes on.`, {
      ...{ next: `Follow it with ${look}`, cause },
    });
    return { value: run, view: bootstrapView, failed };
  }
  return endedResult(run);
}

export async function readRun(ctx: Ctx, params: { tenantID: string; run: string }): Promise<RunRecord> {
  const client = await ctx.client();
  return client.call(getBootstrap, { params }, { signal: within(ctx, requestMs).signal });
}

async function unlessPassing<T>(ctx: Ctx, ask: () => Promise<T>): Promise<T | null> {
  return ask().catch((cause: unknown) => {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    if (!passes(cause)) throw cause;
    return null;
  });
}

export function endedResult(run: RunRecord): Result {
  const result = { value: run, view: bootstrapView };
  if (run.state === 'done') return result;
  const next = nextOf(run);
  if (run.state === 'canceled')
    return { ...result, failed: new CliError('canceled', 'The run was canceled.', { next }) };
  const why = run.failure === null ? '.' : `: ${run.failure.detail}`;
  const at = run.step === null ? '' : ` at ${run.step}`;
  const code = run.failure?.code ?? 'internal';
  return { ...result, failed: new WorkFailed(code, `The run failed${at}${why}`, next) };
}

function nextOf({ id, slug, deployment_id, undo }: RunRecord): string {
  const look =
    deployment_id === null
      ? `svc apps bootstrap-status ${id} shows its steps.`
      : `svc deployments logs ${deployment_id} --app ${plain(slug)} shows what the build said.`;
  if (undo.length === 0) return look;
  return [`${look} What the run made stays; to undo it:`, ...undo.map((line) => `  ${plain(line)}`)].join(
    '\n',
  );
}
