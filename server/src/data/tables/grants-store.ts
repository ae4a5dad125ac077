import type { principalTypes, tableActions } from '@svc/contract/tables.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

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
type Tables = { table_grants: TableGrantRow };

export function listTableGrantRows(db: Db, tenantId: string, tableId: string): Promise<TableGrantRow[]> {
  return grantsQuery(db, tenantId)
    .selectAll()
    .where('table_id', '=', tableId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Sorted by id, because PostgreSQL returns deleted rows in any order and equal previews must be equal. */
export async function deletePrincipalGrantRows(
  tx: Tx,
  tenantId: string,
  principal: { type: 'user' | 'app' | 'group'; id: string },
): Promise<(TableGrantRow & { table: string })[]> {
  const rows = await tx
    .withTables<Tables & { app_tables: { id: string; name: string } }>()
    .deleteFrom('table_grants')
    .using('app_tables')
    .whereRef('app_tables.id', '=', 'table_grants.table_id')
    .where('table_grants.tenant_id', '=', tenantId)
    .where('table_grants.principal_type', '=', principal.type)
    .where('table_grants.principal_id', '=', principal.id)
    .returningAll('table_grants')
    .returning('app_tables.name as table')
    .execute();
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1));
}

export async function countAppGrants(db: Db, tenantId: string, appId: string): Promise<number> {
  const { total } = await grantsQuery(db, tenantId)
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('app_id', '=', appId)
    .executeTakeFirstOrThrow();
  return total;
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
  return tx
    .withTables<Tables>()
    .deleteFrom('table_grants')
    .where((e) => e.and({ tenant_id: tenantId, table_id: tableId, id }))
    .returningAll()
    .executeTakeFirst();
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

export function listTableGrantEntries(db: Db, tableId: string): Promise<TableGrantEntry[]> {
  return db
    .withTables<Tables>()
    .selectFrom('table_grants')
    .select(['id', 'principal_type as principalType', 'principal_id as principalId', 'actions'])
    .where('table_id', '=', tableId)
    .execute();
}

export function listAppGrantEntries(
  db: Db,
  { tenantId, appId }: AppRef,
): Promise<(TableGrantEntry & { table_id: string })[]> {
  return grantsQuery(db, tenantId)

    .select(['id', 'table_id', 'principal_type as principalType', 'principal_id as principalId', 'actions'])
    .where('app_id', '=', appId)
    .execute();
}
