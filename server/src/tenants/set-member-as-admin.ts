import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { leavesNoAdmin, type MemberRecord } from './rules.ts';
import { setMember } from './set-member.ts';
import { findMemberRow, listActiveAdminIds, lockMembersOf, saveAdminLeft, type TenantRole } from './store.ts';

/** `setMember` for a tenant's own admins: it keeps at least one of them active. */
export async function setMemberAsAdmin(
  ctx: TenantMutationCtx,
  input: Input<TenantRole>,
): Promise<MemberRecord>;
export async function setMemberAsAdmin(ctx: TenantMutationCtx, input: Input<'none'>): Promise<null>;
export async function setMemberAsAdmin(
  ctx: TenantMutationCtx,
  { userId, role }: Input<TenantRole | 'none'>,
): Promise<MemberRecord | null> {
  const tenantId = ctx.tenant.id;
  await lockMembersOf(ctx.db, tenantId);
  const admins = await listActiveAdminIds(ctx.db, tenantId);
  // The role was checked before the lock; an admin who was demoted while waiting for it is none.
  if (!admins.includes(ctx.caller.userId)) throw fail('forbidden');
  if (role !== 'tenant_admin' && leavesNoAdmin(admins, userId)) throw fail('last_admin');
  const before = await findMemberRow(ctx.db, tenantId, userId);
  if (role === 'none' && !before) throw fail('not_found');
  // Noted for `judgeApprover`; who steps down themself has sent nobody away.
  if (before?.role === 'tenant_admin' && role !== 'tenant_admin' && userId !== ctx.caller.userId)
    await saveAdminLeft(ctx.db, tenantId, { at: ctx.now, by: ctx.caller.userId });
  return setMember(ctx, { tenantId, userId, role });
}

type Input<R> = { userId: string; role: R };
