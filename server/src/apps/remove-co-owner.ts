import { userTag } from '../identity/tags.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { rotateRawDbsKnownTo } from '../raw-db/rotate-known-to.ts';
import { appTag } from '../tables/catalogue.ts';
import { findUser } from '../users/find-user.ts';
import { mayRemoveCoOwner } from './rules.ts';
import { deleteCoOwnerRow, listCoOwnerRows, lockAppRow } from './store.ts';

/** Also of somebody who is no member any more: what they would come back to is taken from them. */
export async function removeCoOwner(ctx: AppMutationCtx, { user }: { user: string }): Promise<undefined> {
  const app = await lockAppRow(ctx.db, ctx.tenant.id, ctx.app.id);
  if (!app) throw fail('not_found');
  const person = await findUser(ctx, { ref: user });
  // Judged before it is looked up whether they are one, under the lock that a handing over would take.
  const { userId } = ctx.caller;
  const caller = { userId, isOwner: app.owner_id === userId, role: ctx.tenant.role };
  if (!mayRemoveCoOwner(caller, person?.id ?? '')) throw fail('forbidden');
  const coOwners = await listCoOwnerRows(ctx.db, ctx.tenant.id, app.id);
  if (!person || !coOwners.some((row) => row.user_id === person.id)) throw fail('not_found');

  await deleteCoOwnerRow(ctx.db, ctx.tenant.id, { appId: app.id, userId: person.id });
  ctx.audit({
    action: 'coOwners.remove',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { co_owner: { user_id: person.id, email: person.email } },
    after: { co_owner: null },
  });
  await rotateRawDbsKnownTo(ctx, { tenantId: ctx.tenant.id, userId: person.id, appId: app.id });
  ctx.changed(appTag(app.id));
  ctx.changed(userTag(person.id));
}
