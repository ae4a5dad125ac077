import type { GroupMember, listGroupMembers as listShape } from '@svc/contract/groups.shapes.ts';
import { groupMembersMax, groupsPerTenantMax } from '@svc/contract/groups.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { findMember, lockMemberForShare } from '../tenants/members.ts';
import { auditTarget, insertManagedGroup, requireLocal } from './groups.ts';
import {
  type CountedGroupRow,
  countGroupRows,
  deleteGroupMembers,
  findGroupRow,
  type GroupMemberRow,
  insertGroupMembers,
  listGroupMemberRows,
  listGroupRows,
  listGroupRowsOf,
  lockGroupRow,
  lockMembersForShare,
  lockTenantGroups,
  updateGroupRow,
} from './store.ts';

function groupMemberRecord({ since, ...row }: GroupMemberRow): z.output<typeof GroupMember> {
  return { ...row, since: since.toISOString() };
}

export async function listGroupMembers(
  ctx: TenantCtx,
  { group, query }: { group: string; query: z.output<typeof listShape.query> },
) {
  const row = orNotFound(await findGroupRow(ctx.db, ctx.tenant.id, group));
  const { rows, total } = await listGroupMemberRows(ctx.db, row, { q: query.q, window: pageWindow(query) });
  return toPage(query, rows.map(groupMemberRecord), total);
}

export async function addGroupMember(
  ctx: TenantMutationCtx,
  { group, user }: { group: string; user: string },
) {
  const row = orNotFound(await lockGroupRow(ctx.db, ctx.tenant.id, group));
  requireLocal(row);
  const member = await lockMemberForShare(ctx.db, ctx.tenant.id, user);
  if (!member || member.status === 'deactivated')
    throw validationError('user_id', 'is not a member of this tenant', 'unknown_user');
  const { userId } = member;
  const changed = await changeGroupMembers(ctx, row, { add: [userId], remove: [] });
  const { rows } = await listGroupMemberRows(ctx.db, row, { q: member.email });
  const added = orNotFound(rows.find((each) => each.user_id === userId));
  return { ...groupMemberRecord(added), changed: changed ? undefined : (false as const) };
}

export async function removeGroupMember(
  ctx: TenantMutationCtx,
  { group, user }: { group: string; user: string },
): Promise<undefined> {
  const row = orNotFound(await lockGroupRow(ctx.db, ctx.tenant.id, group));
  requireLocal(row);
  const { userId } = orNotFound(await findMember(ctx.db, ctx.tenant.id, user));
  if (!(await changeGroupMembers(ctx, row, { add: [], remove: [userId] }))) throw fail('not_found');
}

/** Returns whether anything changed. Caller must hold the group's lock. */
export async function changeGroupMembers(
  ctx: MutationCtx,
  group: CountedGroupRow,
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
): Promise<boolean> {
  const { rows } = await listGroupMemberRows(ctx.db, group);
  const current = new Map(rows.map(({ user_id, email }) => [user_id, email]));
  const known = await lockMembersForShare(ctx.db, group.tenant_id, add);
  const unknown = add.find((id) => !known.has(id));
  if (unknown !== undefined) throw validationError('members', `${unknown} is not a member of the tenant`);
  const added = [...known].filter(([id]) => !current.has(id));
  const removed = [...current].filter(([id]) => remove.includes(id) && !known.has(id));
  if (current.size + added.length - removed.length > groupMembersMax)
    throw fail('limit_reached', { detail: `A group has at most ${groupMembersMax} members.` });
  const ids = (people: [string, string][]) => people.map(([id]) => id);
  const emails = (people: [string, string][]) => people.map(([, email]) => email).sort();
  ctx.audit({
    action: removed.length > 0 && added.length === 0 ? 'groupMembers.remove' : 'groupMembers.add',
    target: auditTarget(group),
    before: { members: emails(removed) },
    after: { members: emails(added) },
  });
  if (added.length === 0 && removed.length === 0) return false;
  await insertGroupMembers(ctx.db, group, { userIds: ids(added), now: ctx.now });
  await deleteGroupMembers(ctx.db, group, ids(removed));
  // For a directory, members are part of the group (`meta.lastModified`).
  if (group.source === 'scim') await updateGroupRow(ctx.db, group, { updated_at: ctx.now });
  for (const id of [...ids(added), ...ids(removed)]) ctx.invalidate(userTag(id));
  return true;
}

/** Called when a directory deactivates a member. It keeps the members of its own groups itself. */
export async function leaveUnmanagedGroups(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string } },
): Promise<void> {
  for (const { id, source } of await listGroupRowsOf(ctx.db, tenantId, user.id)) {
    const group = source === 'scim' ? undefined : await lockGroupRow(ctx.db, tenantId, id);
    if (group) await changeGroupMembers(ctx, group, { add: [], remove: [user.id] });
  }
}

/** Values of a claim beyond this are ignored: a provider may send thousands. */
const claimValuesMax = 500;

/** Replaces the user's memberships in the groups that follow the claim; a group is created with its first member. */
export async function followClaim(
  ctx: MutationCtx,
  { tenantId, userId, values }: { tenantId: string; userId: string; values: readonly string[] },
): Promise<void> {
  await lockTenantGroups(ctx.db, tenantId);
  const required = new Set(values.slice(0, claimValuesMax));
  for (const { id, source, external_id } of await listGroupRowsOf(ctx.db, tenantId, userId)) {
    if (source !== 'claim' || required.delete(external_id ?? '')) continue;
    const group = await lockGroupRow(ctx.db, tenantId, id);
    if (group) await changeGroupMembers(ctx, group, { add: [], remove: [userId] });
  }
  for (const value of required) {
    const where = sql`g.source = 'claim' and g.external_id = ${value}`;
    const { rows } = await listGroupRows(ctx.db, tenantId, { where }, { limit: 1, offset: 0 });
    if (!rows[0] && (await countGroupRows(ctx.db, tenantId)) >= groupsPerTenantMax) {
      ctx.log.warn({ tenant: tenantId, group: value }, 'group of a claim skipped: too many groups');
      continue;
    }
    const group =
      (rows[0] && (await lockGroupRow(ctx.db, tenantId, rows[0].id))) ??
      (await insertManagedGroup(ctx, {
        tenant_id: tenantId,
        display_name: value,
        external_id: value,
        source: 'claim',
      }));
    await changeGroupMembers(ctx, group, { add: [userId], remove: [] });
  }
}
