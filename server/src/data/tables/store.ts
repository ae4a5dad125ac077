import type { ColumnChecks } from '@svc/contract/column-checks.ts';
import type { DeleteAction } from '@svc/contract/column-families.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { SearchWeight } from '@svc/contract/search.ts';
import type { TableRules } from '@svc/contract/table-rules.ts';
import type { principalTypes, tableActions } from '@svc/contract/tables.ts';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { countRows, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';

interface StoredTable {
  id: string;
  tenant_id: string;
  app_id: string;
  name: string;
  description: string;
  owner_column: number | null;
  rules: TableRules;
  changes: boolean;
  history_days: number | null;
  soft_delete_days: number | null;
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
  checks?: ColumnChecks | null;
  ref_table?: string | null;
  on_delete?: DeleteAction | null;
  target?: { name: string; id_number: number } | null;
}

interface Referrer {
  table_id: string;
  table: string;
  number: number;
  column: string;
  on_delete: DeleteAction;
}

interface SearchIndex {
  language: string;
  weights: SearchWeight[];
}

export interface IndexRow {
  id: string;
  name: string;
  columns: number[];
  is_unique: boolean;
  search?: SearchIndex | null;
  created_at: string;
}

export interface TableRow extends StoredTable {
  columns: ColumnRow[];
  indexes: IndexRow[];
  referenced_by?: Referrer[];
}

export interface TableGrantRow {
  id: string;
  tenant_id: string;
  app_id: string;
  table_id: string;
  principal_type: (typeof principalTypes)[number];
  principal_id: string;
  actions: (typeof tableActions)[number][];
  created_by: string;
  created_at: Date;
}

type TableKey = { tenant_id: string; table_id: string };
type Tables = {
  app_tables: StoredTable;
  app_table_columns: Omit<ColumnRow, 'target'> & TableKey;
  app_table_indexes: Omit<IndexRow, 'created_at'> & TableKey & { created_at: Date };
  table_grants: TableGrantRow;
};

export async function listTableRows(db: Db, app: AppRef, { limit, offset }: PageWindow) {
  const rows = await tableRowsQuery(db, app).orderBy('name').limit(limit).offset(offset).execute();
  return { rows, total: await countTables(db, app) };
}

export function listAllTableRows(db: Db, app: AppRef): Promise<TableRow[]> {
  return tableRowsQuery(db, app).orderBy('name').execute();
}

export function countTables(db: Db, app: AppRef): Promise<number> {
  return countRows(tablesQuery(db, app));
}

export function findTableRow(db: Db, app: AppRef, ref: string): Promise<TableRow | undefined> {
  return tableRowsQuery(db, app)
    .where(isUuid(ref) ? 'id' : 'name', '=', ref)
    .executeTakeFirst();
}

export async function lockTableRow(tx: Tx, app: AppRef, ref: string): Promise<TableRow | undefined> {
  const locked = await tablesQuery(tx, app)
    .select('id')
    .where(isUuid(ref) ? 'id' : 'name', '=', ref)
    .forNoKeyUpdate()
    .executeTakeFirst();
  // Read after locking: a statement that waited for the lock still sees the columns of its earlier snapshot.
  return locked && findTableRow(tx, app, locked.id);
}

export async function lockAppTableRows(tx: Tx, app: AppRef) {
  return tablesQuery(tx, app).select(['id', 'app_id', 'name']).orderBy('id').forUpdate().execute();
}

/** One table creation per app at a time, so that the limit is exact and the schema is created once. */
export async function lockTableCreation(tx: Tx, appId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc tables of ${appId}`}, 0))`.execute(tx);
}

export async function insertTableRow(tx: Tx, { columns, indexes, referenced_by, ...row }: TableRow) {
  await tx.withTables<Tables>().insertInto('app_tables').values(row).execute();
  await insertColumnRows(tx, row, columns);
}

type TableId = Pick<StoredTable, 'tenant_id' | 'id'>;

export async function updateTableRow(tx: Tx, { tenant_id, id }: TableId, set: Partial<StoredTable>) {
  await tx
    .withTables<Tables>()
    .updateTable('app_tables')
    .set(set)
    .where((e) => e.and({ tenant_id, id }))
    .execute();
}

export async function deleteTableRow(tx: Tx, { tenant_id, id }: TableId): Promise<void> {
  await sql`delete from svc.app_tables where tenant_id = ${tenant_id} and id = ${id}`.execute(tx);
}

export async function insertColumnRows(tx: Tx, { tenant_id, id }: TableId, columns: readonly ColumnRow[]) {
  const rows = columns.map(({ target, ...column }) => ({ ...column, tenant_id, table_id: id }));
  await tx.withTables<Tables>().insertInto('app_table_columns').values(rows).execute();
}

export async function updateColumnRow(
  tx: Tx,
  { tenant_id, id }: TableId,
  { number, target, ...set }: ColumnRow,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('app_table_columns')
    .set(set)
    .where((e) => e.and({ tenant_id, table_id: id, number }))
    .execute();
}

export async function deleteColumnRow(tx: Tx, { tenant_id, id }: TableId, number: number): Promise<void> {
  await sql`delete from svc.app_table_columns
    where tenant_id = ${tenant_id} and table_id = ${id} and number = ${number}`.execute(tx);
}

export async function insertIndexRow(
  tx: Tx,
  { tenant_id, id }: TableId,
  index: Omit<IndexRow, 'created_at'> & { created_at: Date },
): Promise<void> {
  const search = index.search ? sql<SearchIndex>`${JSON.stringify(index.search)}::jsonb` : null;
  const row = { ...index, search, tenant_id, table_id: id };
  await tx.withTables<Tables>().insertInto('app_table_indexes').values(row).execute();
}

export async function deleteIndexRows(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  await sql`delete from svc.app_table_indexes
    where tenant_id = ${tenantId} and id = any (${ids})`.execute(tx);
}

export function listTableGrantRows(db: Db, tenantId: string, tableId: string): Promise<TableGrantRow[]> {
  const grants = grantsQuery(db, tenantId).selectAll().where('table_id', '=', tableId);
  return grants.orderBy('created_at').orderBy('id').execute();
}

/** Sorted by id, because PostgreSQL returns deleted rows in any order and equal previews must be equal. */
export async function deletePrincipalGrantRows(
  tx: Tx,
  tenantId: string,
  { type, id }: { type: 'user' | 'app' | 'group'; id: string },
): Promise<(TableGrantRow & { table: string })[]> {
  const rows = await tx
    .withTables<Tables>()
    .deleteFrom('table_grants')
    .using('app_tables')
    .whereRef('app_tables.id', '=', 'table_grants.table_id')
    .where('table_grants.tenant_id', '=', tenantId)
    .where((e) => e.and({ principal_type: type, principal_id: id }))
    .returningAll('table_grants')
    .returning('app_tables.name as table')
    .execute();
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1));
}

export function countAppGrants(db: Db, tenantId: string, appId: string): Promise<number> {
  return countRows(grantsQuery(db, tenantId).where('app_id', '=', appId));
}

export async function countGrantsByTable(db: Db, app: AppRef): Promise<ReadonlyMap<string, number>> {
  const rows = await grantsQuery(db, app.tenantId)
    .select(['table_id', (e) => e.fn.countAll<number>().as('total')])
    .where('app_id', '=', app.appId)
    .groupBy('table_id')
    .execute();
  return new Map(rows.map((row) => [row.table_id, row.total]));
}

export async function insertTableGrantRow(tx: Tx, row: TableGrantRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('table_grants').values(row).execute();
}

/** Takes no lock on the table: a revocation never waits for a schema change. */
export function deleteTableGrantRow(
  tx: Tx,
  tenantId: string,
  { tableId, id }: { tableId: string; id: string },
): Promise<TableGrantRow | undefined> {
  const grants = tx.withTables<Tables>().deleteFrom('table_grants').returningAll();
  return grants.where((e) => e.and({ tenant_id: tenantId, table_id: tableId, id })).executeTakeFirst();
}

function grantsQuery(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('table_grants').where('tenant_id', '=', tenantId);
}

export interface TableGrantEntry {
  id: string;
  principalType: TableGrantRow['principal_type'];
  principalId: string;
  actions: readonly TableGrantRow['actions'][number][];
}
const grantEntry = [
  'id',
  'principal_type as principalType',
  'principal_id as principalId',
  'actions',
] as const;

export function listTableGrantEntries(db: Db, tableId: string): Promise<TableGrantEntry[]> {
  const grants = db.withTables<Tables>().selectFrom('table_grants').select(grantEntry);
  return grants.where('table_id', '=', tableId).execute();
}

export function listAppGrantEntries(
  db: Db,
  { tenantId, appId }: AppRef,
): Promise<(TableGrantEntry & { table_id: string })[]> {
  const grants = grantsQuery(db, tenantId).where('app_id', '=', appId);
  return grants.select([...grantEntry, 'table_id']).execute();
}

/** Of a table in the database of the rows; undefined when it does not exist. */
export async function findTableSize(tx: Tx, table: string) {
  const { rows } = await sql<{ bytes: number; estimate: number }>`
    select pg_relation_size(oid)::float8 as bytes, reltuples::float8 as estimate
    from pg_class where oid = to_regclass(${sql.lit(table)})`.execute(tx);
  return rows[0];
}

/** `limit`: counts no further; null counts all. */
export async function countTableRows(tx: Tx, table: string, limit: number | null): Promise<number> {
  // Citus would bring a subquery with a limit to its coordinator.
  const atMost = limit === null ? sql`` : sql`limit ${limit}`;
  const { rows } = await sql<{ rows: number }>`
    select count(*)::int as rows from (select from ${sql.raw(table)} ${atMost}) as counted`.execute(tx);
  return rows[0]?.rows ?? 0;
}

export async function estimateTableRows(tx: Tx, table: string): Promise<number> {
  const explained = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] | string }>`
    explain (format json) select from ${sql.raw(table)}`.execute(tx);
  const plan = explained.rows[0]?.['QUERY PLAN'];
  const parsed = typeof plan === 'string' ? JSON.parse(plan) : plan;
  return Math.round(parsed?.[0]?.Plan?.['Plan Rows'] ?? 0);
}

function tablesQuery(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('app_tables')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}

function tableRowsQuery(db: Db, app: AppRef) {
  return tablesQuery(db, app).selectAll().select([columnsJson, indexesJson, referrersJson]);
}

const columnsJson = sql<ColumnRow[]>`(
  select coalesce(jsonb_agg(to_jsonb(c) - 'tenant_id' - 'table_id' || case when r.id is null then '{}' else
    jsonb_build_object('target', jsonb_build_object('name', r.name, 'id_number', i.number)) end order by c.number), '[]')
  from svc.app_table_columns c
  left join svc.app_tables r on r.id = c.ref_table
  left join svc.app_table_columns i on i.table_id = r.id and i.role = 'id'
  where c.table_id = app_tables.id)`.as('columns');
const referrersJson = sql<Referrer[]>`(
  select coalesce(jsonb_agg(jsonb_build_object('table_id', c.table_id, 'table', o.name, 'number', c.number,
    'column', c.name, 'on_delete', c.on_delete) order by o.name, c.number), '[]')
  from svc.app_table_columns c join svc.app_tables o on o.id = c.table_id
  where c.ref_table = app_tables.id)`.as('referenced_by');
const indexesJson = sql<IndexRow[]>`(
  select coalesce(jsonb_agg(to_jsonb(i) - 'tenant_id' - 'table_id' order by i.name), '[]')
  from svc.app_table_indexes i where i.table_id = app_tables.id)`.as('indexes');
