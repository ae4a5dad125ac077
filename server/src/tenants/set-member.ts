import { endAppMembershipsOf } from '../apps/end-app-memberships-of.ts';
import { endCoOwnershipsOf } from '../apps/end-co-ownerships-of.ts';
import { revokeGrantsOf } from '../grants/revoke-grants-of.ts';
import { userTag } from '../identity/tags.ts';
import { revokePatsOf } from '../pats/revoke-pats-of.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { rotateRawDbsKnownTo } from '../raw-db/rotate-known-to.ts';
import { revokeTableGrantsOf } from '../tables/revoke-table-grants-of.ts';
import { findUser } from '../users/find-user.ts';
import { type MemberRecord, memberRecord } from './rules.ts';
import {
  deleteMembership,
  findMemberRow,
  lockMembersOf,
  type MemberRow,
  saveMembership,
  type TenantRole,
} from './store.ts';
import { tellFormerAdmin } from './tell-former-admin.ts';

/**
 * Adds a user, changes a role or, with `none`, takes the user out with all they were granted and co-owned. For the
 * operator, who may also leave a tenant without an admin; admins come by `setMemberAsAdmin`.
 */
export async function setMember(ctx: MutationCtx, input: Input<TenantRole>): Promise<MemberRecord>;
export async function setMember(
  ctx: MutationCtx,
  input: Input<TenantRole | 'none'>,
): Promise<MemberRecord | null>;
export async function setMember(
  ctx: MutationCtx,
  { tenantId, userId, role }: Input<TenantRole | 'none'>,
): Promise<MemberRecord | null> {
  if (!(await lockMembersOf(ctx.db, tenantId))) throw fail('not_found');
  const before = await findMemberRow(ctx.db, tenantId, userId);
  if (role === (before?.role ?? 'none')) {
    const same = before ? { role: before.role } : {};
    const target = { kind: 'member', id: userId, name: before?.email ?? '' };
    ctx.audit({ action: 'members.set', target, before: same, after: same });
    return before ? memberRecord(before) : null;
  }

  const after = role === 'none' ? null : { ...(before ?? (await newcomer(ctx, userId))), role };
  if (after) {
    await saveMembership(ctx.db, {
      tenant_id: tenantId,
      user_id: userId,
      role: after.role,
      created_at: after.since,
    });
  } else {
    await deleteMembership(ctx.db, tenantId, userId);
  }
  ctx.audit({
    action: after ? 'members.set' : 'members.remove',
    target: { kind: 'member', id: userId, name: (before ?? after)?.email ?? '' },
    before: before ? { role: before.role } : null,
    after: after ? { role: after.role } : null,
  });
  await tellFormerAdmin(ctx, { tenantId, userId, before: before?.role, after: after?.role });
  // After the membership: who makes a grant or a token holds it, so what they made is there to be found.
  if (!after) {
    await revokeGrantsOf(ctx, { tenantId, userId, reason: 'The member was removed.' });
    await revokePatsOf(ctx, { tenantId, userId });
    await revokeTableGrantsOf(ctx, { tenantId, userId });
    const user = { id: userId, email: before?.email ?? '' };
    await endCoOwnershipsOf(ctx, { tenantId, user });
    await endAppMembershipsOf(ctx, { tenantId, user });
    await rotateRawDbsKnownTo(ctx, { tenantId, userId });
  }
  ctx.changed(userTag(userId));
  return after ? memberRecord(after) : null;
}

type Input<R> = { tenantId: string; userId: string; role: R };

/** Someone suspended is to an admin as if they were not there: the answer must not tell which users exist. */
async function newcomer(ctx: MutationCtx, userId: string): Promise<Omit<MemberRow, 'role'>> {
  const user = await findUser(ctx, { ref: userId });
  if (user?.status !== 'active') throw fail('not_found', { detail: 'There is no active user with this id.' });
  return { user_id: user.id, email: user.email, name: user.name, status: user.status, since: ctx.now };
}
