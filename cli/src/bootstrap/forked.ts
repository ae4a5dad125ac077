import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { bootstrapView } from '../views/bootstrap.ts';
import { approveRun } from './approve-run.ts';
import type { StartedRun } from './run-record.ts';

/** A fork is a run like a bootstrap; it may have to wait for a person as well. */
export async function forked(ctx: Ctx, made: Result): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return made;
  const { approval, ...started } = made.value as StartedRun;
  const look = `svc apps bootstrap-status ${started.id} --watch`;
  if (approval === null) {
    ctx.note(`It goes on at the server: ${look}`);
    return made;
  }
  const run = await approveRun(ctx, { ...started, approval });
  if (run === null) return { ...made, text: () => '', exit: 11 };
  ctx.note(`It goes on at the server: ${look}`);
  return { ...made, value: { ...run, approval: null }, view: bootstrapView };
}
