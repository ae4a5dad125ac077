import { coOwnersMax } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { appMembersMax } from '@svc/contract/owners.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
  ownsApp,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { appTag, userTag } from '../../core/tags.ts';
import { findGroups } from '../../people/groups/groups.ts';
import { lockMemberForShare } from '../../people/tenants/members.ts';
import { findUser, findUsers } from '../../people/users/users.ts';
import { publishAppEvent } from '../app-events.ts';
import { notify } from '../notifications/notifications.ts';
import { lockAppFor } from './app-access.ts';
import { addMemberGroup, groupRecord, removeMemberGroup } from './member-groups.ts';
import {
  deletePersonRow,
  deletePersonRowsOfUser,
  type InvitedRole,
  insertPersonRow,
  listAppPeople,
} from './people-store.ts';
import { findInvitedMax } from './status-store.ts';
import { type AppRow, lockAppRow } from './store.ts';

type LockedApp = Pick<AppRow, 'id' | 'slug'>;
interface Person {
  user_id: string;
  email: string;
}

const roles = {
  co_owner: { endpoints: 'coOwners', countMax: coOwnersMax, limit: `${coOwnersMax} co-owners` },
  member: {
    endpoints: 'appMembers',
    countMax: appMembersMax,
    limit: `${appMembersMax} members in addition to its owners`,
  },
} as const;

export async function listOwners(ctx: AppCtx, query: PageQuery) {
  const people = await listAppPeople(ctx.db, appRef(ctx));
  const page = paginate(
    query,
    people.flatMap(({ user_id, role, since }) =>
      role === 'member' || user_id === null ? [] : { user_id, role, since },
    ),
  );
  if (page.total === 0) throw fail('not_found');
  const users = await findUsers(ctx, { ids: page.items.map(({ user_id }) => user_id) });
  const items = page.items.map(({ user_id, role, since }) => {
    const { email = '', name = '' } = users.get(user_id) ?? {};
    return { user_id, email, name, role, since: since.toISOString() };
  });
  return { ...page, items };
}

export async function listAppMembers(ctx: AppCtx, query: PageQuery) {
  const page = paginate(query, await listAppPeople(ctx.db, appRef(ctx)));
  if (page.total === 0) throw fail('not_found');
  const ids = (column: 'user_id' | 'group_id') => page.items.flatMap((each) => each[column] ?? []);
  const users = await findUsers(ctx, { ids: ids('user_id') });
  const groups = await findGroups(ctx.db, ctx.tenant.id, ids('group_id'));
  const items = page.items.map(({ user_id, group_id, role, since }) => {
    const { email = '', name = '' } = users.get(user_id ?? '') ?? {};
    const group = groups.find(({ id }) => id === group_id);
    const member = { role, since: since.toISOString() };
    return group ? groupRecord(group, member) : { user_id, email, name, ...member, group: null };
  });
  return { ...page, items };
}

export async function addCoOwner(ctx: AppMutationCtx, { user }: { user: string }) {
  const app = orNotFound(await lockAppRow(ctx.db, ctx.tenant.id, ctx.app.id));
  // The relation was checked before the lock: a former owner is refused.
  if (app.owner_id !== ctx.caller.userId) throw fail('forbidden');
  const added = await addPerson(ctx, app, { role: 'co_owner', user });
  if (added.changed === false) return added;
  await endRole(ctx, app, { role: 'member', person: added });
  await notify(ctx, {
    tenantId: ctx.tenant.id,
    appId: app.id,
    kind: 'co_owner_added',
    userIds: [added.user_id],
    title: `You are a co-owner of ${app.name}`,
    text: `${ctx.caller.email} added you. You can deploy, publish and configure the app.`,
    path: consolePaths.app(ctx.tenant.slug, app.slug),
  });
  return added;
}

export async function addAppMember(
  ctx: AppMutationCtx,
  { user_id = '', group_id }: { user_id?: string; group_id?: string },
) {
  const app = await lockAppFor(ctx, { required: 'owners' });
  await checkPolicyLimit(ctx, { user_id, group_id });
  const added =
    group_id === undefined
      ? { ...(await addPerson(ctx, app, { role: 'member', user: user_id })), group: null }
      : await addMemberGroup(ctx, app, { ref: group_id, countMax: appMembersMax });
  if (added.changed !== false && app.visibility === 'private')
    ctx.warn('The app is private: members can see it once its visibility is `invite_only`.');
  return added;
}

/** An app that nobody has reviewed may invite as many people as the policy has approved. */
async function checkPolicyLimit(
  ctx: AppMutationCtx,
  invited: { user_id: string; group_id: string | undefined },
) {
  const countMax = await findInvitedMax(ctx.db, appRef(ctx));
  if (countMax === null) return;
  const people = (await listAppPeople(ctx.db, appRef(ctx))).filter(({ role }) => role === 'member');
  const isInvited = people.some(({ user_id }) => user_id === invited.user_id);
  if (invited.group_id === undefined && (isInvited || people.length < countMax)) return;
  throw fail('limit_reached', {
    detail: `The app is invite_only by a policy that allows ${countMax} invited people and no groups. For more, request a review: svc publish --visibility invite_only --app ${ctx.app.slug} --execute.`,
  });
}

async function addPerson<R extends InvitedRole>(
  ctx: AppMutationCtx,
  app: LockedApp,
  { role, user }: { role: R; user: string },
) {
  const member = await lockMemberForShare(ctx.db, ctx.tenant.id, user);
  const found = member?.status === 'active' ? await findUser(ctx, { ref: member.userId }) : null;
  if (!found) throw validationError('user_id', 'is not an active member of this tenant', 'unknown_user');
  const person = { user_id: found.id, email: found.email, name: found.name, role };
  const people = await listAppPeople(ctx.db, appRef(ctx));
  const current = people.find(({ user_id }) => user_id === person.user_id);
  if (current?.role === role) {
    auditPerson(ctx, app, { role, action: 'add', before: person, after: person });
    return { ...person, since: current.since.toISOString(), changed: false as const };
  }
  if (current && current.role !== 'member') {
    throw fail('unique_violation', {
      detail: `${person.email} already owns ${app.slug}.`,
      errors: [{ field: 'user_id', code: 'unique_violation', detail: 'is an owner' }],
    });
  }
  const { countMax, limit } = roles[role];
  if (people.filter((each) => each.role === role).length >= countMax)
    throw fail('limit_reached', { detail: `An app has at most ${limit}.` });
  await startRole(ctx, app, { role, person });
  ctx.invalidate(appTag(app.id));
  ctx.invalidate(userTag(person.user_id));
  return { ...person, since: ctx.now.toISOString(), changed: undefined };
}

export async function removeCoOwner(ctx: AppMutationCtx, { user }: { user: string }): Promise<undefined> {
  const app = orNotFound(await lockAppRow(ctx.db, ctx.tenant.id, ctx.app.id));
  const canRemoveOthers = app.owner_id === ctx.caller.userId || ctx.tenant.role === 'tenant_admin';
  const userId = await removePerson(ctx, app, { role: 'co_owner', user, canRemoveOthers });
  await publishAppEvent(ctx, 'ownerRemoved', { ...appRef(ctx), slug: app.slug, userId });
}

export async function removeAppMember(ctx: AppMutationCtx, { user }: { user: string }): Promise<undefined> {
  const app = await lockAppFor(ctx, { required: 'visible' });
  const canRemoveOthers = ownsApp(app.relation) || app.callerRole === 'tenant_admin';
  if (canRemoveOthers && (await removeMemberGroup(ctx, app, { ref: user }))) return;
  await removePerson(ctx, app, { role: 'member', user, canRemoveOthers });
}

async function removePerson(
  ctx: AppMutationCtx,
  app: LockedApp,
  { role, user, canRemoveOthers }: { role: InvitedRole; user: string; canRemoveOthers: boolean },
): Promise<string> {
  const person = await findUser(ctx, { ref: user });
  // Authorized before the role is looked up, so that the response does not reveal who has it.
  if (!canRemoveOthers && person?.id !== ctx.caller.userId) throw fail('forbidden');
  if (!person || !(await endRole(ctx, app, { role, person: { user_id: person.id, email: person.email } })))
    throw fail('not_found');
  ctx.invalidate(appTag(app.id));
  ctx.invalidate(userTag(person.id));
  return person.id;
}

export async function startRole(
  ctx: AppMutationCtx,
  app: LockedApp,
  { role, person }: { role: InvitedRole; person: Person },
): Promise<void> {
  const { userId: addedBy } = ctx.caller;
  await insertPersonRow(ctx.db, role, { appId: app.id, userId: person.user_id, addedBy, now: ctx.now });
  auditPerson(ctx, app, { role, action: 'add', before: null, after: person });
}

export async function endRole(
  ctx: AppMutationCtx,
  app: LockedApp,
  { role, person }: { role: InvitedRole; person: Person },
): Promise<boolean> {
  const key = { tenantId: ctx.tenant.id, appId: app.id, userId: person.user_id };
  if (!(await deletePersonRow(ctx.db, role, key))) return false;
  auditPerson(ctx, app, { role, action: 'remove', before: person, after: null });
  return true;
}

/** An app always has an owner: the person stays the owner of apps that they represent until a transfer. */
export async function endRolesOfUser(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string; email: string } },
): Promise<void> {
  const person = { user_id: user.id, email: user.email };
  for (const role of ['co_owner', 'member'] as const) {
    for (const app of await deletePersonRowsOfUser(ctx.db, role, { tenantId, userId: user.id })) {
      auditPerson(ctx, app, { role, action: 'remove', before: person, after: null });
      ctx.invalidate(appTag(app.id));
    }
  }
}

function auditPerson(
  ctx: MutationCtx,
  app: LockedApp,
  change: { role: InvitedRole; action: 'add' | 'remove'; before: Person | null; after: Person | null },
): void {
  const auditFields = (person: Person | null) => ({
    [change.role]: person && { user_id: person.user_id, email: person.email },
  });
  ctx.audit({
    action: `${roles[change.role].endpoints}.${change.action}`,
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: auditFields(change.before),
    after: auditFields(change.after),
  });
}

export async function countInvited(db: Db, app: AppRef): Promise<{ people: number; groups: number }> {
  const invited = (await listAppPeople(db, app)).filter(({ role }) => role === 'member');
  const people = invited.filter(({ user_id }) => user_id !== null).length;
  return { people, groups: invited.length - people };
}
