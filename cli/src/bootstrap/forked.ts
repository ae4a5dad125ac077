import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { approveRun } from './approve-run.ts';
import type { RunRecord, StartedRun } from './run-record.ts';
import { shownRun } from './shown-run.ts';

/** A fork is a run like a bootstrap; it may have to wait for a person as well. */
export async function forked(ctx: Ctx, made: Result): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return made;
  const { approval, ...started } = made.value as StartedRun;
  if (approval === null) return shown(ctx, started);
  const approved = await approveRun(ctx, { ...started, approval });
  return 'waits' in approved ? { ...made, ...approved.waits } : shown(ctx, approved.run);
}

function shown(ctx: Ctx, run: RunRecord): Result {
  return { ...shownRun(ctx, run), value: { ...run, approval: null } };
}
