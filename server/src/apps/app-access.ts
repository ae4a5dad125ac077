import { userTag } from '../identity/tags.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';
import { appTag } from '../tables/catalogue.ts';
import { findAppOrDeleted } from './find-app.ts';

/** The app a path names and what the caller is to it; null alike for no app and for one that they can not see. */
export function createAppAccess({ db, cache }: { db: Db; cache: TaggedCache<AppAccess> }) {
  return (
    tenant: Pick<TenantAccess, 'id' | 'role'>,
    ref: string,
    caller: Pick<Caller, 'userId'>,
  ): Promise<AppAccess | null> => {
    // The role is part of the key: an app that an admin sees may not be there for a member.
    const key = `${tenant.id} ${tenant.role} ${caller.userId} ${isUuid(ref) ? ref.toLowerCase() : ref}`;
    return cache.get(key, async () => {
      const app = await findAppOrDeleted(db, tenant, { ref, caller });
      return app ? { value: app, tags: [appTag(app.id), userTag(caller.userId)] } : null;
    });
  };
}
