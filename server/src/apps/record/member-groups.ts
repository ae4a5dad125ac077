import { type AppMutationCtx, appRef, type MutationCtx } from '../../core/context.ts';
import { fail, validationError } from '../../core/problem.ts';
import { findGroup, lockGroupForShare } from '../../people/groups/groups.ts';
import { deleteGroupRows, insertGroupRow, listAppPeople } from './people-store.ts';
import { invalidateWithPreviews } from './preview-apps.ts';
import type { AppRow } from './store.ts';

type LockedApp = Pick<AppRow, 'id' | 'slug'>;

interface InvitedGroup {
  id: string;
  name: string;
  display_name: string;
  member_count: number;
}

export function groupRecord<R>({ id, name, display_name, member_count }: InvitedGroup, member: R) {
  return { user_id: null, email: '', name: display_name, ...member, group: { id, name, member_count } };
}

/** Caller must hold the app's row lock. */
export async function addMemberGroup(
  ctx: AppMutationCtx,
  app: LockedApp,
  { ref, countMax }: { ref: string; countMax: number },
) {
  const group = await lockGroupForShare(ctx.db, ctx.tenant.id, ref);
  if (!group) throw validationError('group_id', 'is not a group of this tenant', 'unknown_group');
  const people = await listAppPeople(ctx.db, appRef(ctx));
  const current = people.find(({ group_id }) => group_id === group.id);
  if (current) {
    auditGroup(ctx, app, { action: 'add', before: group, after: group });
    const member = { role: 'member' as const, since: current.since.toISOString() };
    return { ...groupRecord(group, member), changed: false as const };
  }
  if (people.filter(({ role }) => role === 'member').length >= countMax)
    throw fail('limit_reached', { detail: `An app has at most ${countMax} members and groups.` });
  const { userId: addedBy } = ctx.caller;
  await insertGroupRow(ctx.db, { appId: app.id, groupId: group.id, addedBy, now: ctx.now });
  auditGroup(ctx, app, { action: 'add', before: null, after: group });
  await invalidateWithPreviews(ctx, app.id);
  return {
    ...groupRecord(group, { role: 'member' as const, since: ctx.now.toISOString() }),
    changed: undefined,
  };
}

export async function removeMemberGroup(ctx: AppMutationCtx, app: LockedApp, { ref }: { ref: string }) {
  const group = await findGroup(ctx.db, ctx.tenant.id, ref);
  if (!group) return false;
  const removed = { tenantId: ctx.tenant.id, groupId: group.id, appId: app.id };
  if ((await deleteGroupRows(ctx.db, removed)).length === 0) return false;
  auditGroup(ctx, app, { action: 'remove', before: group, after: null });
  await invalidateWithPreviews(ctx, app.id);
  return true;
}

export async function removeGroupFromApps(
  ctx: MutationCtx,
  { tenantId, group }: { tenantId: string; group: { id: string; name: string } },
): Promise<void> {
  for (const app of await deleteGroupRows(ctx.db, { tenantId, groupId: group.id })) {
    auditGroup(ctx, app, { action: 'remove', before: group, after: null });
    await invalidateWithPreviews(ctx, app.id);
  }
}

function auditGroup(
  ctx: MutationCtx,
  app: LockedApp,
  change: {
    action: 'add' | 'remove';
    before: { id: string; name: string } | null;
    after: { id: string; name: string } | null;
  },
): void {
  const auditFields = (group: { id: string; name: string } | null) => ({
    group: group && { id: group.id, name: group.name },
  });
  ctx.audit({
    action: `appMembers.${change.action}`,
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: auditFields(change.before),
    after: auditFields(change.after),
  });
}
