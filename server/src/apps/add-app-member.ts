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
): Promise<AppMemberRecord> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const member = await holdMember(ctx.db, ctx.tenant.id, user);
  const person = member?.status === 'active' ? await findUser(ctx, { ref: member.userId }) : null;
  if (!person) throw invalid('user_id', 'is not an active member of this tenant', 'unknown_user');
  const coOwners = await listCoOwnerRows(ctx.db, ctx.tenant.id, app.id);
  const members = await listAppMemberRows(ctx.db, ctx.tenant.id, app.id);
  const has = [app.owner_id, ...[...coOwners, ...members].map((row) => row.user_id)];
  if (has.includes(person.id)) {
    throw fail('unique_violation', {
      detail: `${person.email} is a member of ${app.slug} already.`,
      errors: [{ field: 'user_id', code: 'unique_violation', detail: 'is a member already' }],
    });
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
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { member: null },
    after: { member: { user_id: person.id, email: person.email } },
  });
  if (app.visibility === 'private') ctx.warn('The app is private: members see it once it is `invite_only`.');
  ctx.changed(appTag(app.id));
  ctx.changed(userTag(person.id));
  const { id, email, name } = person;
  return { user_id: id, email, name, role: 'member', since: ctx.now.toISOString() };
}
