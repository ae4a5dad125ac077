import { soleAdminDaysMin } from '@svc/contract/review.ts';
import { sql } from 'kysely';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';

/**
 * For an admin who is to approve something: never who asked for it, unless there is nobody else; then it is on record.
 * Who has sent another admin away waits: otherwise each could do so for a moment.
 */
export async function judgeApprover(
  ctx: TenantMutationCtx,
  { requestedBy, refusal }: { requestedBy: string; refusal: 'self_review' | 'self_approval' },
): Promise<{ self_approved?: true }> {
  if (requestedBy !== ctx.caller.userId) return {};
  const sole = await soleAdminOf(ctx.db, ctx.tenant.id);
  if (sole?.userId !== ctx.caller.userId) throw fail(refusal);
  const from = sole.sentAwayAt && daysAfter(sole.sentAwayAt, soleAdminDaysMin);
  if (from && ctx.now < from)
    throw fail(refusal, {
      detail: `You asked for it yourself, and have lately removed another admin. You may from ${from.toISOString()} on, or another admin before.`,
    });
  ctx.warn('You asked for this yourself. You are the only admin of the tenant, so you may; it is on record.');
  return { self_approved: true };
}

/** The one active admin of the tenant, and when they last sent another away; null where there are several, or none. */
async function soleAdminOf(
  db: Db,
  tenantId: string,
): Promise<{ userId: string; sentAwayAt: Date | null } | null> {
  // One question: who leaves between two would be neither there nor gone.
  const { rows } = await sql<{ user_id: string; sent_away_at: Date | null }>`
    select m.user_id, case when t.admin_left_by = m.user_id then t.admin_left_at end as sent_away_at
    from svc.memberships m join svc.users u on u.id = m.user_id join svc.tenants t on t.id = m.tenant_id
    where m.tenant_id = ${tenantId} and m.role = 'tenant_admin' and u.status = 'active' limit 2`.execute(db);
  const [one, another] = rows;
  return one && !another ? { userId: one.user_id, sentAwayAt: one.sent_away_at } : null;
}
