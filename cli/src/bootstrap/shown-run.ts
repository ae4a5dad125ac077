import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { bootstrapView } from '../views/bootstrap.ts';
import { hasEnded, type RunRecord } from './run-record.ts';
import { endedResult } from './watch-run.ts';

/** A run that nobody looks on at: one that was stopped before its code was approved does not go on. */
export function shownRun(ctx: Ctx, run: RunRecord): Result {
  if (hasEnded(run)) return endedResult(run);
  ctx.note(`It goes on at the server: svc apps bootstrap-status ${run.id} --watch`);
  return { value: run, view: bootstrapView };
}
