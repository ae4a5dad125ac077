import { soleAdminDaysMin } from '@svc/contract/review.ts';
import type { listMembers as shape } from '@svc/contract/tenants.shapes.ts';
import type { z } from 'zod';
import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { daysAfter } from '../../core/values.ts';
import { publishPersonEvent } from '../person-events.ts';
import { findUser } from '../users/users.ts';
import { leavesNoAdmin, type MemberRecord, memberRecord } from './rules.ts';
import {
  belongsElsewhere,
  deleteMembership,
  findMemberRow,
  findSoleAdmin,
  listActiveAdminIds,
  listMemberRows,
  lockTenantRow,
  type MemberRow,
  saveMembership,
  setDeactivated,
  type TenantRole,
  updateTenantRow,
} from './store.ts';

export async function listMembers(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const { rows, total } = await listMemberRows(ctx.db, ctx.tenant.id, { q: query.q }, pageWindow(query));
  return toPage(query, rows.map(memberRecord), total);
}

/** Only the operator may leave a tenant without an admin; admins use `setMemberAsAdmin`. */
export async function setMember(ctx: MutationCtx, input: SetMemberInput<TenantRole>): Promise<MemberRecord>;
export async function setMember(
  ctx: MutationCtx,
  input: SetMemberInput<TenantRole | 'none'>,
): Promise<MemberRecord | null>;
export async function setMember(
  ctx: MutationCtx,
  { tenantId, userId, role }: SetMemberInput<TenantRole | 'none'>,
): Promise<MemberRecord | null> {
  if (!(await lockTenantRow(ctx.db, tenantId))) throw fail('not_found');
  const before = await findMemberRow(ctx.db, tenantId, userId);
  if (role === (before?.role ?? 'none')) {
    const unchanged = before ? { role: before.role } : {};
    const target = { kind: 'member', id: userId, name: before?.email ?? '' };
    ctx.audit({ action: 'members.set', target, before: unchanged, after: unchanged });
    return before ? memberRecord(before) : null;
  }

  const after = role === 'none' ? null : { ...(before ?? (await findNewMember(ctx, userId))), role };
  if (after) await saveMembership(ctx.db, tenantId, after);
  else await deleteMembership(ctx.db, tenantId, userId);
  ctx.audit({
    action: after ? 'members.set' : 'members.remove',
    target: { kind: 'member', id: userId, name: (before ?? after)?.email ?? '' },
    before: before ? { role: before.role } : null,
    after: after ? { role: after.role } : null,
  });
  if (before) {
    const roles = { before: before.role, after: after?.role ?? null };
    await publishPersonEvent(ctx, 'roleChanged', { tenantId, userId, ...roles });
    const user = { id: userId, email: before.email };
    if (!after) await publishPersonEvent(ctx, 'leftTenant', { tenantId, user });
  }
  ctx.invalidate(userTag(userId));
  return after ? memberRecord(after) : null;
}

type SetMemberInput<R> = { tenantId: string; userId: string; role: R };

/** A suspended user is reported as missing: the response must not reveal which users exist. */
async function findNewMember(ctx: MutationCtx, userId: string): Promise<Omit<MemberRow, 'role'>> {
  const user = await findUser(ctx, { ref: userId });
  if (user?.status !== 'active') throw fail('not_found', { detail: 'There is no active user with this id.' });
  return {
    user_id: user.id,
    email: user.email,
    name: user.name,
    status: user.status,
    since: ctx.now,
    deactivated_at: null,
    attributes: {},
  };
}

/** `setMember` for a tenant's admins: at least one active admin remains. */
export async function setMemberAsAdmin(
  ctx: TenantMutationCtx,
  input: AdminInput<TenantRole>,
): Promise<MemberRecord>;
export async function setMemberAsAdmin(ctx: TenantMutationCtx, input: AdminInput<'none'>): Promise<null>;
export async function setMemberAsAdmin(
  ctx: TenantMutationCtx,
  { userId, role }: AdminInput<TenantRole | 'none'>,
): Promise<MemberRecord | null> {
  const tenantId = ctx.tenant.id;
  const admins = await lockTenantAsAdmin(ctx);
  if (role !== 'tenant_admin' && leavesNoAdmin(admins, userId)) throw fail('last_admin');
  const before = await findMemberRow(ctx.db, tenantId, userId);
  if (role === 'none' && !before) throw fail('not_found');
  // Read by `authorizeApprover`. An admin who steps down has not removed anybody.
  if (before?.role === 'tenant_admin' && role !== 'tenant_admin' && userId !== ctx.caller.userId)
    await updateTenantRow(ctx.db, tenantId, { admin_left_at: ctx.now, admin_left_by: ctx.caller.userId });
  return setMember(ctx, { tenantId, userId, role });
}

type AdminInput<R> = { userId: string; role: R };

/** The role was checked before the lock: an admin demoted while waiting is refused. */
export async function lockTenantAsAdmin(ctx: TenantMutationCtx): Promise<string[]> {
  await lockTenantRow(ctx.db, ctx.tenant.id);
  const admins = await listActiveAdminIds(ctx.db, ctx.tenant.id);
  if (!admins.includes(ctx.caller.userId)) throw fail('forbidden');
  return admins;
}

/**
 * Refuses to let an admin approve their own request, unless they are the only admin. An admin who has just
 * removed another one must wait: otherwise two admins could remove each other in turn to approve their own
 * requests.
 */
export async function authorizeApprover(
  ctx: TenantMutationCtx,
  { requestedBy, refusal }: { requestedBy: string; refusal: 'self_review' | 'self_approval' },
): Promise<{ self_approved?: true }> {
  if (requestedBy !== ctx.caller.userId) return {};
  const sole = await findSoleAdmin(ctx.db, ctx.tenant.id);
  if (sole?.userId !== ctx.caller.userId) throw fail(refusal);
  const from = sole.removedAdminAt && daysAfter(sole.removedAdminAt, soleAdminDaysMin);
  if (from && ctx.now < from)
    throw fail(refusal, {
      detail: `You made this request yourself and recently removed another admin. You can approve it from ${from.toISOString()}; another admin can approve it now.`,
    });
  ctx.warn(
    'You made this request yourself. As the only admin of the tenant you can approve it; the audit log records this.',
  );
  return { self_approved: true };
}

/** Sign-ins end unless the person is in another tenant too. The last admin can be deactivated: a role must not keep access. */
export async function deactivateMember(
  ctx: MutationCtx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  const member = await lockMember(ctx, { tenantId, userId });
  const { email, deactivated_at } = member;
  if (!deactivated_at) await setDeactivated(ctx.db, { tenantId, userId, at: ctx.now });
  // Also for a deactivated member: a sign-in that was in progress may have completed since.
  const isElsewhere = await belongsElsewhere(ctx.db, tenantId, userId);
  await publishPersonEvent(ctx, 'deactivated', { tenantId, user: { id: userId, email }, isElsewhere });
  auditActive(ctx, member, { active: false });
  ctx.invalidate(userTag(userId));
}

export async function reactivateMember(
  ctx: MutationCtx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  const member = await lockMember(ctx, { tenantId, userId });
  if (member.deactivated_at) await setDeactivated(ctx.db, { tenantId, userId, at: null });
  auditActive(ctx, member, { active: true });
  ctx.invalidate(userTag(userId));
}

async function lockMember(ctx: MutationCtx, { tenantId, userId }: { tenantId: string; userId: string }) {
  if (!(await lockTenantRow(ctx.db, tenantId))) throw fail('not_found');
  return orNotFound(await findMemberRow(ctx.db, tenantId, userId));
}

function auditActive(ctx: MutationCtx, member: MemberRow, after: { active: boolean }): void {
  ctx.audit({
    action: after.active ? 'members.activate' : 'members.deactivate',
    target: { kind: 'member', id: member.user_id, name: member.email },
    before: { active: member.deactivated_at === null },
    after,
  });
}

export {
  describeMembers,
  filterActiveMembers,
  findMember,
  listActiveAdminIds,
  lockMemberForShare,
  lockTenantRow as lockTenant,
  memberStatusSql,
} from './store.ts';
