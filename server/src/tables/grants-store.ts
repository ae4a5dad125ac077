import type { principalTypes, tableActions } from '@svc/contract/tables.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface TableGrantRow {
  id: string;
  tenant_id: string;
  app_id: string;
  table_id: string;
  principal_type: (typeof principalTypes)[number];
  /** A user id, an app id or the name of a role. */
  principal_id: string;
  actions: (typeof tableActions)[number][];
  created_by: string;
  created_at: Date;
}
type Tables = { table_grants: TableGrantRow };

/** At most as many as a table may have. */
export function listTableGrantRows(db: Db, tenantId: string, tableId: string): Promise<TableGrantRow[]> {
  return grantsOf(db, tenantId)
    .selectAll()
    .where('table_id', '=', tableId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** With the names of their tables, by id: PostgreSQL gives deleted rows back in any order. */
export async function deleteTableGrantRowsOf(
  tx: Tx,
  tenantId: string,
  principal: { type: 'user' | 'app'; id: string },
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

/** To all tables of an app. */
export async function countTableGrantsOfApp(db: Db, tenantId: string, appId: string): Promise<number> {
  const { total } = await grantsOf(db, tenantId)
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('app_id', '=', appId)
    .executeTakeFirstOrThrow();
  return total;
}

/** Of each of these tables; those without any are left out. */
export async function countTableGrantsByTable(
  db: Db,
  tenantId: string,
  tableIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (tableIds.length === 0) return new Map();
  const rows = await grantsOf(db, tenantId)
    .select(['table_id', (e) => e.fn.countAll<number>().as('total')])
    .where('table_id', 'in', tableIds)
    .groupBy('table_id')
    .execute();
  return new Map(rows.map((row) => [row.table_id, row.total]));
}

export async function insertTableGrantRow(tx: Tx, row: TableGrantRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('table_grants').values(row).execute();
}

/** Waits for nobody who changes the table: a right ends at once. */
export function deleteTableGrantRow(
  tx: Tx,
  tenantId: string,
  { tableId, id }: { tableId: string; id: string },
): Promise<TableGrantRow | undefined> {
  return tx
    .withTables<Tables>()
    .deleteFrom('table_grants')
    .where('tenant_id', '=', tenantId)
    .where('table_id', '=', tableId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

function grantsOf(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('table_grants').where('tenant_id', '=', tenantId);
}
