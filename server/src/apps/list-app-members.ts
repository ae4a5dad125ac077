import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { findUsers } from '../users/find-users.ts';
import { type AppPerson, listAppPeople } from './members-store.ts';
import type { AppMemberRecord } from './rules.ts';

/** Everybody who has a part in the app: its owner, then co-owners, then those invited, each in the order they came. */
export async function listAppMembers(ctx: AppCtx, query: PageQuery) {
  const page = pageOf(query, await listAppPeople(ctx.db, ctx.tenant.id, ctx.app.id));
  if (page.total === 0) throw fail('not_found');
  return { ...page, items: await named(ctx, page.items) };
}

async function named(ctx: AppCtx, people: readonly AppPerson[]): Promise<AppMemberRecord[]> {
  const users = await findUsers(ctx, { ids: people.map(({ user_id }) => user_id) });
  return people.map(({ user_id, role, since }) => {
    const { email = '', name = '' } = users.get(user_id) ?? {};
    return { user_id, email, name, role, since: since.toISOString() };
  });
}
