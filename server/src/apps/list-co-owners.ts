import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { findUsers } from '../users/find-users.ts';
import type { OwnerRecord } from './rules.ts';
import { findAppRow, listCoOwnerRows } from './store.ts';

/** The representative owner first, then the co-owners in the order in which they came. */
export async function listCoOwners(ctx: AppCtx, query: PageQuery) {
  const app = await findAppRow(ctx.db, ctx.tenant.id, ctx.app.id);
  if (!app) throw fail('not_found');
  const coOwners = await listCoOwnerRows(ctx.db, ctx.tenant.id, app.id);
  const owners = [
    { userId: app.owner_id, role: 'owner', since: app.created_at } as const,
    ...coOwners.map((row) => ({ userId: row.user_id, role: 'co_owner', since: row.created_at }) as const),
  ];
  const page = pageOf(query, owners);
  const people = await findUsers(ctx, { ids: page.items.map(({ userId }) => userId) });
  const items = page.items.map(({ userId, role, since }): OwnerRecord => {
    const { email = '', name = '' } = people.get(userId) ?? {};
    return { user_id: userId, email, name, role, since: since.toISOString() };
  });
  return { ...page, items };
}
