import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { findUsers } from '../users/find-users.ts';
import { listAppPeople } from './members-store.ts';
import type { OwnerRecord } from './rules.ts';

/** The representative owner first, then the co-owners in the order in which they came. */
export async function listCoOwners(ctx: AppCtx, query: PageQuery) {
  const people = await listAppPeople(ctx.db, ctx.tenant.id, ctx.app.id);
  const owners = people.flatMap(({ role, ...person }) => (role === 'member' ? [] : [{ ...person, role }]));
  if (owners.length === 0) throw fail('not_found');
  const page = pageOf(query, owners);
  const users = await findUsers(ctx, { ids: page.items.map(({ user_id }) => user_id) });
  const items = page.items.map(({ user_id, role, since }): OwnerRecord => {
    const { email = '', name = '' } = users.get(user_id) ?? {};
    return { user_id, email, name, role, since: since.toISOString() };
  });
  return { ...page, items };
}
