import { type Generated, sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface CategoryRow {
  id: string;
  tenant_id: string;
  slug: string;
  name: string;
  description: string;
  color: string;
  icon_url: string;
  display_order: number;
  created_at: Date;
  updated_at: Date;
}
/** Where `deleted_at` is set, the category is gone for everybody, and its apps are still being taken out of it. */
type Tables = { categories: CategoryRow & { deleted_at: Generated<Date | null> } };

export async function listCategoryRows(db: Db, tenantId: string, window: Window) {
  const rows = await ofTenant(db, tenantId)
    .select(columns)
    .orderBy('display_order')
    .orderBy((e) => e.fn('lower', ['name']))
    // Names may be the same twice; slugs are not.
    .orderBy('slug')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  return { rows, total: await countCategoryRows(db, tenantId) };
}

export async function countCategoryRows(db: Db, tenantId: string): Promise<number> {
  const { total } = await ofTenant(db, tenantId)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

/** Puts those in line who add or rename one: slugs and their number are looked at before. */
export async function lockCategoriesOf(tx: Tx, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc categories of ${tenantId}`}, 0))`.execute(
    tx,
  );
}

export function findCategoryRow(db: Db, tenantId: string, ref: string): Promise<CategoryRow | undefined> {
  return byRef(db, tenantId, ref).executeTakeFirst();
}

export function lockCategoryRow(tx: Tx, tenantId: string, ref: string): Promise<CategoryRow | undefined> {
  return byRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

/** Keeps it from being deleted until the transaction ends, without keeping others from doing the same. */
export function holdCategoryRow(tx: Tx, tenantId: string, ref: string): Promise<CategoryRow | undefined> {
  return byRef(tx, tenantId, ref).forKeyShare().executeTakeFirst();
}

export async function insertCategoryRow(tx: Tx, row: CategoryRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('categories').values(row).execute();
}

export async function updateCategoryRow(
  tx: Tx,
  tenantId: string,
  id: string,
  set: Omit<CategoryRow, 'id' | 'tenant_id' | 'created_at'>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('categories')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** Apps that stood in it stand in none: the database sees to that. */
export async function deleteCategoryRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('categories')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** Where that would take too long: apps that stand in it are taken out afterwards. */
export async function hideCategoryRow(
  tx: Tx,
  tenantId: string,
  { id, now }: { id: string; now: Date },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('categories')
    .set({ deleted_at: now })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function isHiddenCategoryRow(db: Db, tenantId: string, id: string): Promise<boolean> {
  const row = await db
    .withTables<Tables>()
    .selectFrom('categories')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('deleted_at', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

export async function deleteHiddenCategoryRow(db: Db, tenantId: string, id: string): Promise<void> {
  await db
    .withTables<Tables>()
    .deleteFrom('categories')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('deleted_at', 'is not', null)
    .execute();
}

const columns = [
  ...(['id', 'tenant_id', 'slug', 'name', 'description', 'color', 'icon_url'] as const),
  ...(['display_order', 'created_at', 'updated_at'] as const),
] as const;

function byRef(db: Db, tenantId: string, ref: string) {
  return ofTenant(db, tenantId)
    .select(columns)
    .where(isUuid(ref) ? 'id' : 'slug', '=', ref);
}

function ofTenant(db: Db, tenantId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('categories')
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null);
}
