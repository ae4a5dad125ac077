import { coOwnersMax } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { userTag } from '../identity/tags.ts';
import { notify } from '../notifications/notify.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { holdMember } from '../tenants/find-member.ts';
import { findUser } from '../users/find-user.ts';
import type { UserRecord } from '../users/rules.ts';
import { endAppMembership } from './end-app-membership.ts';
import type { OwnerRecord } from './rules.ts';
import { insertCoOwnerRow, listCoOwnerRows, lockAppRow } from './store.ts';

export async function addCoOwner(
  ctx: AppMutationCtx,
  { user }: { user: string },
): Promise<OwnerRecord & { changed?: false }> {
  const app = await lockAppRow(ctx.db, ctx.tenant.id, ctx.app.id);
  if (!app) throw fail('not_found');
  // The relation was seen before the lock; who has handed the app over while waiting for it adds nobody.
  if (app.owner_id !== ctx.caller.userId) throw fail('forbidden');
  const member = await holdMember(ctx.db, ctx.tenant.id, user);
  const person = member?.status === 'active' ? await findUser(ctx, { ref: member.userId }) : null;
  if (!person) throw invalid('user_id', 'is not an active member of this tenant', 'unknown_user');
  const coOwners = await listCoOwnerRows(ctx.db, ctx.tenant.id, app.id);
  if (person.id === app.owner_id) {
    throw fail('unique_violation', {
      detail: `${person.email} is the representative owner of ${app.slug}.`,
      errors: [{ field: 'user_id', code: 'unique_violation', detail: 'is the representative owner' }],
    });
  }
  const target = { kind: 'app', id: app.id, name: app.slug };
  const shown = { co_owner: { user_id: person.id, email: person.email } };
  const already = coOwners.find((row) => row.user_id === person.id);
  if (already) {
    ctx.audit({ action: 'coOwners.add', appId: app.id, target, before: shown, after: shown });
    return { ...recordOf(person, already.created_at), changed: false };
  }
  if (coOwners.length >= coOwnersMax)
    throw fail('limit_reached', { detail: `An app has at most ${coOwnersMax} co-owners.` });

  await insertCoOwnerRow(ctx.db, {
    app_id: app.id,
    user_id: person.id,
    added_by: ctx.caller.userId,
    created_at: ctx.now,
  });
  ctx.audit({ action: 'coOwners.add', appId: app.id, target, before: { co_owner: null }, after: shown });
  await endAppMembership(ctx, { app, person });
  await notify(ctx, {
    ...{ tenantId: ctx.tenant.id, appId: app.id, kind: 'co_owner_added', userIds: [person.id] },
    title: `You are a co-owner of ${app.name}`,
    text: `${ctx.caller.email} has made you one. You can deploy, publish and configure the app.`,
    path: consolePaths.app(ctx.tenant.slug, app.slug),
  });
  ctx.changed(appTag(app.id));
  ctx.changed(userTag(person.id));
  return recordOf(person, ctx.now);
}

function recordOf({ id, email, name }: UserRecord, since: Date): OwnerRecord {
  return { user_id: id, email, name, role: 'co_owner', since: since.toISOString() };
}
