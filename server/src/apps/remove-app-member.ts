import { userTag } from '../identity/tags.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { findUser } from '../users/find-user.ts';
import { endAppMembership } from './end-app-membership.ts';
import { holdApp } from './hold-app.ts';
import { mayRemoveMember } from './rules.ts';

export async function removeAppMember(ctx: AppMutationCtx, { user }: { user: string }): Promise<undefined> {
  const { relation, callerRole, ...app } = await holdApp(ctx, { wanted: 'visible' });
  const person = await findUser(ctx, { ref: user });
  // Judged before it is looked up whether they are one.
  const caller = { userId: ctx.caller.userId, relation, role: callerRole };
  if (!mayRemoveMember(caller, person?.id ?? '')) throw fail('forbidden');
  if (!person || !(await endAppMembership(ctx, { app, person }))) throw fail('not_found');
  ctx.changed(appTag(app.id));
  ctx.changed(userTag(person.id));
}
