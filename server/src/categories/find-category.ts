import type { Db, Tx } from '../plumbing/db.ts';
import { type CategoryRow, findCategoryRow, holdCategoryRow } from './store.ts';

type Found = Pick<CategoryRow, 'id' | 'slug' | 'name'>;

/** For other slices: a category by id or slug, or null. */
export async function findCategory(
  db: Db,
  tenantId: string,
  { ref }: { ref: string },
): Promise<Found | null> {
  return found(await findCategoryRow(db, tenantId, ref));
}

/** The same, and it can not be deleted before this transaction ends. */
export async function holdCategory(
  tx: Tx,
  tenantId: string,
  { ref }: { ref: string },
): Promise<Found | null> {
  return found(await holdCategoryRow(tx, tenantId, ref));
}

function found(row: CategoryRow | undefined): Found | null {
  return row ? { id: row.id, slug: row.slug, name: row.name } : null;
}
