import type { MutationCtx } from '../plumbing/context.ts';
import type { FailureCode, StepName } from './rules.ts';
import { leaveStepRows, type RunRow, updateRunRow, updateStepRow } from './store.ts';

export type Ending =
  | { state: 'done' | 'canceled' }
  | { state: 'failed'; step: StepName; failure: { code: FailureCode; detail: string } };

/** For who holds the run: it has ended, and what it made stays. */
export async function endRun(ctx: MutationCtx, run: RunRow, ending: Ending): Promise<void> {
  const failure = ending.state === 'failed' ? ending.failure : null;
  await updateRunRow(ctx.db, run.tenant_id, {
    id: run.id,
    set: {
      state: ending.state,
      failure_code: failure?.code ?? null,
      failure_detail: failure?.detail ?? null,
      lease_holder: null,
      lease_until: null,
      next_try_at: null,
      ended_at: ctx.now,
    },
  });
  if (ending.state === 'failed') {
    const set = { state: 'failed', detail: ending.failure.detail, ended_at: ctx.now } as const;
    await updateStepRow(ctx.db, { runId: run.id, name: ending.step, set });
  }
  // What was under way between two looks.
  if (ending.state === 'canceled') await leaveStepRows(ctx.db, run.id, 'The run was canceled.');
  ctx.audit({
    action: 'bootstraps.end',
    ...(run.app_id === null ? {} : { appId: run.app_id }),
    target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
    before: { state: run.state },
    after: { state: ending.state, ...(failure ? { failure: failure.code } : {}) },
  });
}
