import type { AppAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { isAppRef } from './rules.ts';
import { type AppRow, findAppRowOf } from './store.ts';

export type AppOfTenant = AppAccess & Pick<AppRow, 'runtime'>;

/** By id or slug with what the user is to it, seen or not: a table grant reaches into apps that are not visible. */
export async function findAppOfTenant(
  db: Db,
  tenantId: string,
  { ref, userId }: { ref: string; userId: string },
): Promise<AppOfTenant | null> {
  const row = isAppRef(ref) ? await findAppRowOf(db, tenantId, userId, ref) : undefined;
  if (!row) return null;
  const { id, slug, name, owner_id: ownerId, visibility, record, relation, runtime } = row;
  return { id, slug, name, ownerId, visibility, record, relation, runtime };
}
