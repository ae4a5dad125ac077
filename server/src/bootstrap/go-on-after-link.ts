import type { MutationCtx } from '../plumbing/context.ts';
import { workTag } from './bootstrap-parts.ts';
import { lockAwaitingRuns, updateRunRow, updateStepRow } from './store.ts';

/** Called in the transaction that links an account at the git host: runs that waited for it go on. */
export async function goOnAfterLink(
  ctx: MutationCtx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  for (const run of await lockAwaitingRuns(ctx.db, tenantId, userId)) {
    await updateStepRow(ctx.db, {
      runId: run.id,
      name: 'authorize',
      set: { state: 'done', output: {}, detail: 'Your account is linked.', ended_at: ctx.now },
    });
    await updateRunRow(ctx.db, tenantId, {
      id: run.id,
      set: { state: 'running', device_code_hash: null, approval_until: null },
    });
    ctx.audit({
      action: 'bootstraps.goOn',
      target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
      before: { state: 'awaiting_approval' },
      after: { state: 'running' },
    });
    ctx.changed(workTag);
  }
}
