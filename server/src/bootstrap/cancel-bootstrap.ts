import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { workTag } from './bootstrap-parts.ts';
import { endRun } from './end-run.ts';
import { isEnded } from './rules.ts';
import { type RunPlaces, runRecord } from './run-record.ts';
import { lockRun, type Run, updateRunRow } from './store.ts';

/** By who started it. A step that is under way is finished first; one that nobody works on is not begun. */
export async function cancelBootstrap(
  ctx: TenantMutationCtx,
  { run: id }: { run: string },
  places: RunPlaces,
) {
  const run = await lockRun(ctx.db, ctx.tenant.id, id);
  if (!run || run.created_by !== ctx.caller.userId) throw fail('not_found');
  // Asked for, and the run ended otherwise before anybody came to it: that is no cancelation.
  const isRepeated = isEnded(run.state) ? run.state === 'canceled' : run.cancel_asked;
  if (isEnded(run.state) && !isRepeated)
    throw fail('invalid_state_transition', { detail: `The run has ended: it is ${run.state}.` });
  if (!isRepeated) {
    if (isWorkedOn(run, ctx.now)) await askForEnd(ctx, run);
    else await endRun(ctx, run, { state: 'canceled' });
  }
  const after = (await lockRun(ctx.db, ctx.tenant.id, id)) ?? run;
  const answer = await runRecord(ctx.db, after, places);
  return isRepeated ? { ...answer, changed: false as const } : answer;
}

function isWorkedOn(run: Run, now: Date): boolean {
  return run.state === 'running' && run.lease_until !== null && run.lease_until > now;
}

async function askForEnd(ctx: TenantMutationCtx, run: Run): Promise<void> {
  await updateRunRow(ctx.db, run.tenant_id, { id: run.id, set: { cancel_asked: true } });
  ctx.audit({
    action: 'bootstraps.cancel',
    target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
    before: { cancel_asked: false },
    after: { cancel_asked: true },
  });
  ctx.changed(workTag);
}
