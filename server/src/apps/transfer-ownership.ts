import { consolePaths } from '@svc/contract/console-paths.ts';
import { userTag } from '../identity/tags.ts';
import { notify } from '../notifications/notify.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { rotateRawDbsKnownTo } from '../raw-db/rotate-known-to.ts';
import { appTag } from '../tables/catalogue.ts';
import { findMember, holdMember } from '../tenants/find-member.ts';
import { findUsers } from '../users/find-users.ts';
import type { UserRecord } from '../users/rules.ts';
import { endAppMembership } from './end-app-membership.ts';
import { type HeldApp, holdApp } from './hold-app.ts';
import { saveOwner } from './members-store.ts';
import { ownerIdsOf } from './owner-ids-of.ts';
import { type OwnerRecord, ownerObstacle } from './rules.ts';
import { deleteCoOwnerRow, insertCoOwnerRow, listCoOwnerRows } from './store.ts';

export interface Transfer {
  app_id: string;
  owner: OwnerRecord;
  previous_owner: Omit<OwnerRecord, 'role'> & { role: 'co_owner' | 'none' };
}

/**
 * One column says who represents the app, so it is always exactly one person. Who has represented it becomes a co-owner,
 * also beyond the limit of these: the limit must not keep an app from being handed over.
 */
export async function transferOwnership(ctx: AppMutationCtx, { to }: { to: string }): Promise<Transfer> {
  const app = await holdApp(ctx, { wanted: 'owners_or_admin' });
  const obstacle = await obstacleOf(ctx, app);
  // Both memberships are held before anything is written: what is made here must not outlast them.
  const target = await holdMember(ctx.db, ctx.tenant.id, to);
  if (target?.status !== 'active')
    throw invalid('to', 'is not an active member of this tenant', 'unknown_user');
  if (target.userId === app.owner_id) throw invalid('to', 'is the owner already');
  if (obstacle) refuseTaking(ctx, app, target.userId);
  const stays = await holdMember(ctx.db, ctx.tenant.id, app.owner_id);
  // Taken out of the tenant since it was asked what they are to the app.
  if (!stays && !obstacle) throw fail('not_found');
  const people = await findUsers(ctx, { ids: [target.userId, app.owner_id] });
  const [next, previous] = [people.get(target.userId), people.get(app.owner_id)];
  if (!next || !previous) throw fail('not_found');

  await saveOwner(ctx.db, ctx.tenant.id, { appId: app.id, userId: next.id, now: ctx.now });
  ctx.audit({
    action: 'ownership.transfer',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { owner: named(previous) },
    after: { owner: named(next), ...(obstacle ? { in_place_of_owner: obstacle } : {}) },
  });
  await endCoOwnership(ctx, app, next);
  await endAppMembership(ctx, { app, person: next });
  if (stays) await makeCoOwner(ctx, app, previous);
  else await rotateRawDbsKnownTo(ctx, { tenantId: ctx.tenant.id, userId: previous.id, appId: app.id });
  await tellOwners(ctx, app, { next, previous });
  warnOf(ctx, { obstacle, next, previous, stays: stays !== null });
  for (const tag of [appTag(app.id), userTag(next.id), userTag(previous.id)]) ctx.changed(tag);
  const since = ctx.now.toISOString();
  return {
    app_id: app.id,
    owner: { ...shown(next), role: 'owner', since },
    previous_owner: { ...shown(previous), role: stays ? 'co_owner' : 'none', since },
  };
}

type Obstacle = NonNullable<ReturnType<typeof ownerObstacle>>;

/** Null where the owner does it; what keeps the owner from it where an admin may do it in their place. */
async function obstacleOf(ctx: AppMutationCtx, app: HeldApp): Promise<Obstacle | null> {
  if (app.relation === 'owner') return null;
  if (app.callerRole !== 'tenant_admin') throw fail('forbidden');
  const obstacle = ownerObstacle(await findMember(ctx.db, ctx.tenant.id, app.owner_id));
  if (!obstacle) throw fail('forbidden', { detail: 'Only the representative owner hands an app over.' });
  return obstacle;
}

/** Who can take the owner out of the tenant could take every app otherwise. */
function refuseTaking(ctx: AppMutationCtx, app: HeldApp, to: string): void {
  if (to !== ctx.caller.userId || app.relation === 'co_owner') return;
  throw fail('forbidden', {
    detail: 'In place of the owner, name somebody else; a co-owner may name themself.',
  });
}

async function endCoOwnership(ctx: AppMutationCtx, app: HeldApp, person: UserRecord): Promise<void> {
  const coOwners = await listCoOwnerRows(ctx.db, ctx.tenant.id, app.id);
  if (!coOwners.some((row) => row.user_id === person.id)) return;
  await deleteCoOwnerRow(ctx.db, ctx.tenant.id, { appId: app.id, userId: person.id });
  auditCoOwner(ctx, app, 'coOwners.remove', { before: named(person), after: null });
}

async function makeCoOwner(ctx: AppMutationCtx, app: HeldApp, person: UserRecord): Promise<void> {
  await insertCoOwnerRow(ctx.db, {
    app_id: app.id,
    user_id: person.id,
    added_by: ctx.caller.userId,
    created_at: ctx.now,
  });
  auditCoOwner(ctx, app, 'coOwners.add', { before: null, after: named(person) });
}

/** As if they had been added or removed by themselves: the audit tells who is what without knowing of transfers. */
function auditCoOwner(
  ctx: AppMutationCtx,
  app: HeldApp,
  action: string,
  { before, after }: { before: object | null; after: object | null },
): void {
  ctx.audit({
    action,
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { co_owner: before },
    after: { co_owner: after },
  });
}

/** All who own it now; who has represented it is among them, or is told all the same. */
async function tellOwners(
  ctx: AppMutationCtx,
  app: HeldApp,
  { next, previous }: { next: UserRecord; previous: UserRecord },
): Promise<void> {
  const owners = await ownerIdsOf(ctx.db, { tenantId: ctx.tenant.id, appId: app.id });
  await notify(ctx, {
    ...{ tenantId: ctx.tenant.id, appId: app.id, kind: 'ownership_transferred' },
    userIds: [...owners, previous.id].filter((id) => id !== ctx.caller.userId),
    title: `${app.name} has another owner: ${next.email}`,
    text: `${ctx.caller.email} has handed it over. Before, ${previous.email} was its representative owner.`,
    path: consolePaths.app(ctx.tenant.slug, app.slug, 'people'),
  });
}

function warnOf(
  ctx: AppMutationCtx,
  it: { obstacle: Obstacle | null; next: UserRecord; previous: UserRecord; stays: boolean },
): void {
  const { email } = it.previous;
  if (it.obstacle === 'suspended') ctx.warn(`You act in place of the owner: ${email} is suspended.`);
  if (it.obstacle === 'not_a_member')
    ctx.warn(`You act in place of the owner: ${email} is no member any more.`);
  if (!it.stays) ctx.warn(`${email} does not become a co-owner.`);
  ctx.warn(`Only ${it.next.email} can hand the app back.`);
}

const named = ({ id, email }: UserRecord) => ({ user_id: id, email });
const shown = ({ id, email, name }: UserRecord) => ({ user_id: id, email, name });
