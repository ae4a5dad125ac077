import { userTag } from '../identity/tags.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import type { Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { isTenantRef } from './rules.ts';
import { findTenantRowOf } from './store.ts';

/** The tenant a path names and the caller's role in it; null alike for no tenant and for one they are not in. */
export function createTenantAccess({
  db,
  cache,
}: {
  db: Db;
  cache: TaggedCache<TenantAccess>;
}): (ref: string, caller: Pick<Caller, 'userId'>) => Promise<TenantAccess | null> {
  return async (ref, { userId }) => {
    if (!isTenantRef(ref)) return null;
    return cache.get(`${userId} ${ref.toLowerCase()}`, async () => {
      const row = await findTenantRowOf(db, userId, ref);
      if (!row) return null;
      const { id, slug, name, role } = row;
      return { value: { id, slug, name, role }, tags: [userTag(userId)] };
    });
  };
}
