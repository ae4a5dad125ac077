import type { startBootstrap as shape } from '@svc/contract/bootstrap.shapes.ts';
import { startBootstrap } from '@svc/contract/bootstrap.ts';
import { ProblemError } from '@svc/contract/client.ts';
import type { Input } from '@svc/contract/endpoint.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { AdvisedProblem } from '../errors.ts';
import { codePlace, requestMs, resumeApproval } from '../git-host/approval.ts';
import type { Resume } from '../git-host/approval-flags.ts';
import { linkedResult } from '../git-host/link-account.ts';
import { previewApproval } from '../git-host/preview-approval.ts';
import { pendingResult, withoutCode } from '../git-host/show-code.ts';
import { mutate } from '../mutation.ts';
import { resolveTenant } from '../tenant.ts';
import { bootstrapView } from '../views/bootstrap.ts';
import { within } from '../waiting.ts';
import { approveRun } from './approve-run.ts';
import type { RunRecord, StartedRun } from './run-record.ts';
import { shownRun } from './shown-run.ts';
import type { Watch } from './watch-flags.ts';
import { readRun, watchRun } from './watch-run.ts';

export interface AppBootstrap {
  /** `null`: a code says what it is about. */
  wish: Input<typeof shape>['body'] | null;
  resume: Resume | null;
  watch: Watch | null;
}

export async function bootstrapApp(ctx: Ctx, { wish, resume, watch }: AppBootstrap): Promise<Result> {
  const tenantID = await resolveTenant(ctx);
  if (resume !== null) {
    const place = await codePlace(ctx);
    if (ctx.mutation.mode === 'preview') return previewApproval(ctx, place, resume, 'bootstrap');
    const approval = await resumeApproval(ctx, place, resume, 'bootstrap');
    if (approval.status === 'pending') return pendingResult(ctx, approval.code);
    const { run_id } = approval.code;
    if (run_id !== null) {
      if (wish !== null) ctx.note('The run that waited for the code goes on; what else was said is ignored.');
      return shown(ctx, { tenantID, watch, run: await readRun(ctx, { tenantID, run: run_id }) });
    }
    if (wish === null) {
      ctx.note('Runs that waited for it go on; svc apps bootstrap-status <id> shows one.');
      return linkedResult(approval);
    }
  }
  if (wish === null) throw new Error('A bootstrap without a wish goes on with a code.');
  const made = await start(ctx, { tenantID, wish, isResumed: resume !== null });
  if (ctx.mutation.mode === 'preview') return made;
  const started = made.value as StartedRun;
  if (started.approval === null) return shown(ctx, { tenantID, watch, run: started });
  const approved = await approveRun(ctx, { ...started, approval: started.approval });
  if ('waits' in approved) return { ...made, ...approved.waits };
  return shown(ctx, { tenantID, watch, run: approved.run });
}

async function start(
  ctx: Ctx,
  {
    tenantID,
    wish,
    isResumed,
  }: { tenantID: string; wish: NonNullable<AppBootstrap['wish']>; isResumed: boolean },
): Promise<Result> {
  const input = { params: { tenantID }, body: wish };
  const limited = within(withoutCode(ctx), requestMs);
  return mutate(limited, startBootstrap, input, { view: bootstrapView }).catch((cause: unknown) => {
    if (!isResumed || !(cause instanceof ProblemError) || cause.problem.code !== 'slug_taken') throw cause;
    const next = 'The run that waited for this code may have it, and goes on: svc apps get <slug> shows it.';
    throw new AdvisedProblem(cause.problem, next);
  });
}

async function shown(
  ctx: Ctx,
  { tenantID, watch, run }: { tenantID: string; watch: Watch | null; run: RunRecord },
): Promise<Result> {
  const { value, ...rest } =
    watch === null ? shownRun(ctx, run) : await watchRun(ctx, { tenantID, run, watch });
  return { ...rest, value: { ...(value as RunRecord), approval: null } };
}
