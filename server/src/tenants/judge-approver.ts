import { soleAdminDaysMin } from '@svc/contract/review.ts';
import { sql } from 'kysely';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';

/**
 * For an admin who is to approve something: never who asked for it, unless there is nobody else; then it is on record.
 * Who has just come to be the only admin waits: otherwise each could send the others away for a moment.
 */
export async function judgeApprover(
  ctx: TenantMutationCtx,
  { requestedBy, refusal }: { requestedBy: string; refusal: 'self_review' | 'self_approval' },
): Promise<{ self_approved?: true }> {
  if (requestedBy !== ctx.caller.userId) return {};
  const sole = await soleAdminOf(ctx.db, ctx.tenant.id);
  if (sole?.userId !== ctx.caller.userId) throw fail(refusal);
  const from = sole.adminLeftAt && daysAfter(sole.adminLeftAt, soleAdminDaysMin);
  if (from && ctx.now < from)
    throw fail(refusal, {
      detail: `You asked for it yourself, and the tenant had another admin until lately. You may from ${from.toISOString()} on, or another admin before.`,
    });
  ctx.warn('You asked for this yourself. You are the only admin of the tenant, so you may; it is on record.');
  return { self_approved: true };
}

/** The one active admin of the tenant, and when it last had one more; null where there are several, or none. */
async function soleAdminOf(
  db: Db,
  tenantId: string,
): Promise<{ userId: string; adminLeftAt: Date | null } | null> {
  // One question: who leaves between two would be neither there nor gone.
  const { rows } = await sql<{ user_id: string; admin_left_at: Date | null }>`
    select m.user_id, t.admin_left_at
    from svc.memberships m join svc.users u on u.id = m.user_id join svc.tenants t on t.id = m.tenant_id
    where m.tenant_id = ${tenantId} and m.role = 'tenant_admin' and u.status = 'active' limit 2`.execute(db);
  const [one, another] = rows;
  return one && !another ? { userId: one.user_id, adminLeftAt: one.admin_left_at } : null;
}
