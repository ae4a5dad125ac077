import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { governs, isAppRef, reaches } from './rules.ts';
import { findAppRowOf } from './store.ts';

/** By id or slug, with what the caller is to it; null alike for no app and for one that they can not see. */
export async function findApp(
  db: Db,
  tenant: Pick<TenantAccess, 'id' | 'role'>,
  { ref, caller }: { ref: string; caller: Pick<Caller, 'userId'> },
): Promise<AppAccess | null> {
  const app = await findAppOrDeleted(db, tenant, { ref, caller });
  return app?.record === 'deleted' ? null : app;
}

/** The same, and one that is deleted for those who can bring it back. */
export async function findAppOrDeleted(
  db: Db,
  tenant: Pick<TenantAccess, 'id' | 'role'>,
  { ref, caller }: { ref: string; caller: Pick<Caller, 'userId'> },
): Promise<AppAccess | null> {
  const row = isAppRef(ref) ? await findAppRowOf(db, tenant.id, caller.userId, ref, 'any') : undefined;
  if (!row || !reaches(row.visibility, row.relation, tenant.role)) return null;
  if (row.record === 'deleted' && !governs(row.relation, tenant.role)) return null;
  const { id, slug, name, owner_id: ownerId, visibility, record, relation } = row;
  return { id, slug, name, ownerId, visibility, record, relation };
}
