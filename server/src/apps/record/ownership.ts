import { consolePaths } from '@svc/contract/console-paths.ts';
import type { transferOwnership as shape } from '@svc/contract/owners.shapes.ts';
import type { z } from 'zod';
import { type AppMutationCtx, appRef } from '../../core/context.ts';
import { fail, validationError } from '../../core/problem.ts';
import { appTag, userTag } from '../../core/tags.ts';
import { findMember, lockMemberForShare } from '../../people/tenants/members.ts';
import { findUsers, type UserRecord } from '../../people/users/users.ts';
import { publishAppEvent } from '../app-events.ts';
import { notify } from '../notifications/notifications.ts';
import { type LockedApp, lockAppFor } from './app-access.ts';
import { listOwnerIds } from './find-app.ts';
import { toAppRef } from './lifecycle.ts';
import { endRole, startRole } from './people.ts';
import { saveOwner } from './people-store.ts';
import { ownerObstacle } from './rules.ts';

/** The former owner becomes a co-owner, even beyond the limit: the limit must not prevent a transfer. */
export async function transferOwnership(
  ctx: AppMutationCtx,
  { to }: { to: string },
): Promise<z.output<typeof shape.answer>> {
  const app = await lockAppFor(ctx, { required: 'owners_or_admin' });
  const obstacle = await findOwnerObstacle(ctx, app);
  // Both memberships are locked before anything is written: ownership must not outlast them.
  const target = await lockMemberForShare(ctx.db, ctx.tenant.id, to);
  if (target?.status !== 'active')
    throw validationError('to', 'is not an active member of this tenant', 'unknown_user');
  if (target.userId === app.owner_id) throw validationError('to', 'is already the owner');
  if (obstacle) requireOtherOwner(ctx, app, target.userId);
  const remains = await lockMemberForShare(ctx.db, ctx.tenant.id, app.owner_id);
  // The caller was removed from the tenant after the relation was checked.
  if (!remains && !obstacle) throw fail('not_found');
  const people = await findUsers(ctx, { ids: [target.userId, app.owner_id] });
  const [next, previous] = [people.get(target.userId), people.get(app.owner_id)];
  if (!next || !previous) throw fail('not_found');

  await saveOwner(ctx.db, { ...appRef(ctx), userId: next.id, now: ctx.now });
  ctx.audit({
    action: 'ownership.transfer',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { owner: auditedUser(previous) },
    after: { owner: auditedUser(next), ...(obstacle ? { in_place_of_owner: obstacle } : {}) },
  });
  // Audited like a separate removal and addition, so that readers of the audit need not know transfers.
  for (const role of ['co_owner', 'member'] as const)
    await endRole(ctx, app, { role, person: auditedUser(next) });
  if (remains) await startRole(ctx, app, { role: 'co_owner', person: auditedUser(previous) });
  else await publishAppEvent(ctx, 'ownerRemoved', { ...toAppRef(app), userId: previous.id });
  await notifyOwners(ctx, app, { next, previous });
  warnAboutTransfer(ctx, { obstacle, next, previous, remains: remains !== null });
  for (const tag of [appTag(app.id), userTag(next.id), userTag(previous.id)]) ctx.invalidate(tag);
  const since = ctx.now.toISOString();
  return {
    app_id: app.id,
    owner: { ...userFields(next), role: 'owner', since },
    previous_owner: { ...userFields(previous), role: remains ? 'co_owner' : 'none', since },
  };
}

type Obstacle = NonNullable<ReturnType<typeof ownerObstacle>>;

/** Null when the owner transfers; otherwise the reason why an admin may do it instead. */
async function findOwnerObstacle(ctx: AppMutationCtx, app: LockedApp): Promise<Obstacle | null> {
  if (app.relation === 'owner') return null;
  if (app.callerRole !== 'tenant_admin') throw fail('forbidden');
  const obstacle = ownerObstacle(await findMember(ctx.db, ctx.tenant.id, app.owner_id));
  if (!obstacle) throw fail('forbidden', { detail: 'Only the representative owner can transfer the app.' });
  return obstacle;
}

/** Otherwise an admin could remove the owner from the tenant and take any app. */
function requireOtherOwner(ctx: AppMutationCtx, app: LockedApp, to: string): void {
  if (to !== ctx.caller.userId || app.relation === 'co_owner') return;
  throw fail('forbidden', {
    detail: 'An admin who acts for the owner must name somebody else; a co-owner can name themself.',
  });
}

async function notifyOwners(
  ctx: AppMutationCtx,
  app: LockedApp,
  { next, previous }: { next: UserRecord; previous: UserRecord },
): Promise<void> {
  const owners = await listOwnerIds(ctx.db, appRef(ctx));
  await notify(ctx, {
    tenantId: ctx.tenant.id,
    appId: app.id,
    kind: 'ownership_transferred',
    userIds: [...owners, previous.id].filter((id) => id !== ctx.caller.userId),
    title: `${app.name} has a new owner: ${next.email}`,
    text: `${ctx.caller.email} transferred the app. Its previous owner is ${previous.email}.`,
    path: consolePaths.app(ctx.tenant.slug, app.slug, 'people'),
  });
}

function warnAboutTransfer(
  ctx: AppMutationCtx,
  {
    obstacle,
    next,
    previous: { email },
    remains,
  }: { obstacle: Obstacle | null; next: UserRecord; previous: UserRecord; remains: boolean },
): void {
  if (obstacle === 'suspended') ctx.warn(`You act for the owner: ${email} is suspended.`);
  if (obstacle === 'not_a_member') ctx.warn(`You act for the owner: ${email} is no longer a member.`);
  if (!remains) ctx.warn(`${email} does not become a co-owner.`);
  ctx.warn(`Only ${next.email} can transfer the app back.`);
}

const auditedUser = ({ id, email }: UserRecord) => ({ user_id: id, email });
const userFields = ({ id, email, name }: UserRecord) => ({ user_id: id, email, name });
