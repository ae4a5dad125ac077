import { appMembersMax } from '@svc/contract/owners.ts';
import { userTag } from '../identity/tags.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { holdMember } from '../tenants/find-member.ts';
import { findUser } from '../users/find-user.ts';
import { holdApp } from './hold-app.ts';
import { insertAppMemberRow, listAppMemberRows } from './members-store.ts';
import type { AppMemberRecord } from './rules.ts';
import { listCoOwnerRows } from './store.ts';

export async function addAppMember(
  ctx: AppMutationCtx,
  { user }: { user: string },
): Promise<AppMemberRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const member = await holdMember(ctx.db, ctx.tenant.id, user);
  const person = member?.status === 'active' ? await findUser(ctx, { ref: member.userId }) : null;
  if (!person) throw invalid('user_id', 'is not an active member of this tenant', 'unknown_user');
  const coOwners = await listCoOwnerRows(ctx.db, ctx.tenant.id, app.id);
  const members = await listAppMemberRows(ctx.db, ctx.tenant.id, app.id);
  if ([app.owner_id, ...coOwners.map((row) => row.user_id)].includes(person.id)) {
    throw fail('unique_violation', {
      detail: `${person.email} owns ${app.slug}, which is more than being a member.`,
      errors: [{ field: 'user_id', code: 'unique_violation', detail: 'is an owner' }],
    });
  }
  const { id, email, name } = person;
  const target = { kind: 'app', id: app.id, name: app.slug };
  const shown = { member: { user_id: id, email } };
  const already = members.find((row) => row.user_id === id);
  if (already) {
    ctx.audit({ action: 'appMembers.add', appId: app.id, target, before: shown, after: shown });
    return {
      user_id: id,
      email,
      name,
      role: 'member',
      since: already.created_at.toISOString(),
      changed: false,
    };
  }
  if (members.length >= appMembersMax)
    throw fail('limit_reached', { detail: `An app has at most ${appMembersMax} members beside its owners.` });

  await insertAppMemberRow(ctx.db, {
    app_id: app.id,
    user_id: person.id,
    added_by: ctx.caller.userId,
    created_at: ctx.now,
  });
  ctx.audit({
    action: 'appMembers.add',
    appId: app.id,
    target,
    before: { member: null },
    after: shown,
  });
  if (app.visibility === 'private') ctx.warn('The app is private: members see it once it is `invite_only`.');
  ctx.changed(appTag(app.id));
  ctx.changed(userTag(person.id));
  return { user_id: id, email, name, role: 'member', since: ctx.now.toISOString() };
}
