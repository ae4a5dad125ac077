import type { ColumnType } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import { isUuid } from '../plumbing/ref.ts';

interface StoredTable {
  id: string;
  tenant_id: string;
  app_id: string;
  name: string;
  description: string;
  /** By number. */
  owner_column: number | null;
  version: number;
  columns_made: number;
  attributes_made: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
}

export interface ColumnRow {
  number: number;
  name: string;
  type: ColumnType;
  nullable: boolean;
  default_text: string | null;
  role: 'id' | 'created_at' | 'updated_at' | 'plain';
}

export interface IndexRow {
  id: string;
  name: string;
  /** By number. */
  columns: number[];
  is_unique: boolean;
  /** As JSON spells it. */
  created_at: string;
}

/** A table with all that belongs to its shape, read by one statement so that the parts fit together. */
export interface TableRow extends StoredTable {
  columns: ColumnRow[];
  indexes: IndexRow[];
}

type Owned = { tenant_id: string; table_id: string };
type Tables = {
  app_tables: StoredTable;
  app_table_columns: ColumnRow & Owned;
  app_table_indexes: Omit<IndexRow, 'created_at'> & Owned & { created_at: Date };
};

export async function listTableRows(db: Db, place: AppPlace, window: Window) {
  const rows = await tablesOf(db, place)
    .selectAll()
    .select([columnsOfTable, indexesOfTable])
    .orderBy('name')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  return { rows, total: await countTables(db, place) };
}

export async function countTables(db: Db, place: AppPlace): Promise<number> {
  const { total } = await tablesOf(db, place)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

export function findTableRow(db: Db, place: AppPlace, ref: string): Promise<TableRow | undefined> {
  return tablesOf(db, place)
    .selectAll()
    .select([columnsOfTable, indexesOfTable])
    .where(isUuid(ref) ? 'id' : 'name', '=', ref)
    .executeTakeFirst();
}

export async function lockTableRow(tx: Tx, place: AppPlace, ref: string): Promise<TableRow | undefined> {
  const locked = await tablesOf(tx, place)
    .select('id')
    .where(isUuid(ref) ? 'id' : 'name', '=', ref)
    .forNoKeyUpdate()
    .executeTakeFirst();
  // Read after the lock is had: a statement that waited for it still shows columns as they were before.
  return locked && findTableRow(tx, place, locked.id);
}

/** All of an app: whoever is changing one of them has done so when this is had. */
export async function lockTableRowsOf(
  tx: Tx,
  place: AppPlace,
): Promise<Pick<TableRow, 'id' | 'app_id' | 'name'>[]> {
  return tablesOf(tx, place).select(['id', 'app_id', 'name']).orderBy('id').forUpdate().execute();
}

/** Puts those who make tables of an app in line, so that the limit is exact and its schema is made once. */
export async function lockTablesOf(tx: Tx, appId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc tables of ${appId}`}, 0))`.execute(tx);
}

export async function insertTableRow(tx: Tx, { columns, indexes, ...row }: TableRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('app_tables').values(row).execute();
  await insertColumnRows(tx, row.tenant_id, row.id, columns);
}

export async function updateTableRow(
  tx: Tx,
  tenantId: string,
  id: string,
  set: Partial<StoredTable>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('app_tables')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function deleteTableRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('app_tables')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function insertColumnRows(
  tx: Tx,
  tenantId: string,
  tableId: string,
  columns: readonly ColumnRow[],
): Promise<void> {
  const rows = columns.map((column) => ({ ...column, tenant_id: tenantId, table_id: tableId }));
  await tx.withTables<Tables>().insertInto('app_table_columns').values(rows).execute();
}

export async function updateColumnRow(
  tx: Tx,
  tenantId: string,
  tableId: string,
  { number, ...set }: Pick<ColumnRow, 'number' | 'name' | 'nullable' | 'default_text'>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('app_table_columns')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('table_id', '=', tableId)
    .where('number', '=', number)
    .execute();
}

export async function deleteColumnRow(
  tx: Tx,
  tenantId: string,
  tableId: string,
  number: number,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('app_table_columns')
    .where('tenant_id', '=', tenantId)
    .where('table_id', '=', tableId)
    .where('number', '=', number)
    .execute();
}

export async function insertIndexRow(
  tx: Tx,
  tenantId: string,
  tableId: string,
  row: Omit<IndexRow, 'created_at'> & { created_at: Date },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .insertInto('app_table_indexes')
    .values({ ...row, tenant_id: tenantId, table_id: tableId })
    .execute();
}

export async function deleteIndexRows(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .withTables<Tables>()
    .deleteFrom('app_table_indexes')
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

function tablesOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('app_tables')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}

const columnsOfTable = sql<ColumnRow[]>`(
  select coalesce(jsonb_agg(to_jsonb(c) - 'tenant_id' - 'table_id' order by c.number), '[]')
  from svc.app_table_columns c where c.table_id = app_tables.id)`.as('columns');
const indexesOfTable = sql<IndexRow[]>`(
  select coalesce(jsonb_agg(to_jsonb(i) - 'tenant_id' - 'table_id' order by i.name), '[]')
  from svc.app_table_indexes i where i.table_id = app_tables.id)`.as('indexes');
