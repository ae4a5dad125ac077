import { Category } from '@svc/contract/categories.shapes.ts';
import { type Generated, sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { countRows, fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';

export interface CategoryRow extends Omit<z.output<typeof Category>, 'created_at' | 'updated_at'> {
  created_at: Date;
  updated_at: Date;
}
type Tables = { categories: CategoryRow & { deleted_at: Generated<Date | null> } };

export function listCategoryRows(db: Db, tenantId: string, window: PageWindow) {
  const query = selectCategories(db, tenantId)
    .select(columns)
    .orderBy('display_order')
    .orderBy((e) => e.fn('lower', ['name']))
    // Names are not unique; slugs are.
    .orderBy('slug');
  return fetchPage(query, window);
}

export function countCategoryRows(db: Db, tenantId: string): Promise<number> {
  return countRows(selectCategories(db, tenantId));
}

/** Serializes creation and renaming, so that slugs and the limit can be checked before writing. */
export async function lockTenantCategories(tx: Tx, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc categories of ${tenantId}`}, 0))`.execute(
    tx,
  );
}

export function findCategoryRow(db: Db, tenantId: string, ref: string): Promise<CategoryRow | undefined> {
  return selectByRef(db, tenantId, ref).executeTakeFirst();
}

export function lockCategoryRow(tx: Tx, tenantId: string, ref: string): Promise<CategoryRow | undefined> {
  return selectByRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

export function lockCategoryForShare(
  tx: Tx,
  tenantId: string,
  ref: string,
): Promise<CategoryRow | undefined> {
  return selectByRef(tx, tenantId, ref).forKeyShare().executeTakeFirst();
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

/** The host is ignored: the base URL may change. */
export async function listCategoryIconIds(db: Db, tenantId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select substring(icon_url from '/icons/([0-9a-f-]{36})$') as id from svc.categories
    where tenant_id = ${tenantId} and icon_url like '%/icons/%'`.execute(db);
  return rows.map(({ id }) => id).filter(Boolean);
}

export async function deleteCategoryRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await sql`delete from svc.categories where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
}

export async function hideCategoryRow(tx: Tx, tenantId: string, { id, now }: { id: string; now: Date }) {
  await sql`update svc.categories set deleted_at = ${now} where tenant_id = ${tenantId} and id = ${id}`.execute(
    tx,
  );
}

export async function isCategoryHidden(db: Db, tenantId: string, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from svc.categories
    where tenant_id = ${tenantId} and id = ${id} and deleted_at is not null`.execute(db);
  return rows.length > 0;
}

export async function deleteHiddenCategory(db: Db, tenantId: string, id: string): Promise<void> {
  await sql`
    delete from svc.categories
    where tenant_id = ${tenantId} and id = ${id} and deleted_at is not null`.execute(db);
}

const columns = Object.keys(Category.shape) as (keyof CategoryRow)[];

function selectByRef(db: Db, tenantId: string, ref: string) {
  return selectCategories(db, tenantId)
    .select(columns)
    .where(isUuid(ref) ? 'id' : 'slug', '=', ref);
}

function selectCategories(db: Db, tenantId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('categories')
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null);
}

/** Includes deleted apps: a restored app returns to its category. */
export async function countAppsInCategory(db: Db, tenantId: string, categoryId: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from svc.apps
    where tenant_id = ${tenantId} and category_id = ${categoryId}`.execute(db);
  return rows[0]?.total ?? 0;
}
