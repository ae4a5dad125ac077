import { CompiledQuery, sql } from 'kysely';
import type { MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { sha256 } from '../../core/values.ts';
import type { LinkEvents, TenantUser } from '../git-connections/deps.ts';
import { workTag } from './deps.ts';
import { lockAwaitingRuns, updateRunRow, updateStepRow } from './store.ts';

/** Passed to git-connections, which must not import this slice. */
export const linkEvents: LinkEvents = { linked: resumeAfterLink, denied: markDenied };

/** Resumes the user's waiting runs, in the transaction that links the account. */
async function resumeAfterLink(ctx: MutationCtx, { tenantId, userId }: TenantUser) {
  for (const run of await lockAwaitingRuns(ctx.db, tenantId, userId)) {
    const done = { state: 'done', output: {}, detail: 'Your account is linked.', ended_at: ctx.now } as const;
    await updateStepRow(ctx.db, run.id, 'authorize', done);
    await updateRunRow(ctx.db, run, { state: 'running', device_code_hash: null, approval_until: null });
    ctx.audit({
      action: 'bootstraps.goOn',
      target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
      before: { state: 'awaiting_approval' },
      after: { state: 'running' },
    });
    ctx.invalidate(workTag);
  }
}

/**
 * Marks the run that waits for a denied code; a worker then fails it. The poll that found this is rejected, so there is no
 * transaction to join.
 */
export async function markDenied(
  db: Db,
  { tenantId, userId }: TenantUser,
  { deviceCode }: { deviceCode: string },
): Promise<void> {
  const { numAffectedRows } = await sql`
    update svc.bootstrap_runs set is_denied = true
    where tenant_id = ${tenantId} and created_by = ${userId} and state = 'awaiting_approval'
      and device_code_hash = ${sha256(deviceCode)}`.execute(db);
  if (numAffectedRows) await db.executeQuery(CompiledQuery.raw(notifySql, [workTag]));
}
