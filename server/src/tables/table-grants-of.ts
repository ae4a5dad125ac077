import type { principalTypes, tableActions } from '@svc/contract/tables.ts';
import type { Db } from '../plumbing/db.ts';

export interface TableGrantEntry {
  principalType: (typeof principalTypes)[number];
  /** A user id, an app id or the name of a role. */
  principalId: string;
  actions: readonly (typeof tableActions)[number][];
}

type Tables = {
  table_grants: {
    tenant_id: string;
    app_id: string;
    table_id: string;
    principal_type: TableGrantEntry['principalType'];
    principal_id: string;
    actions: (typeof tableActions)[number][];
  };
};

/** For the row path, which has come to the table by its tenant and app. */
export async function tableGrantsOf(db: Db, tableId: string): Promise<TableGrantEntry[]> {
  const rows = await db
    .withTables<Tables>()
    .selectFrom('table_grants')
    .select(['principal_type', 'principal_id', 'actions'])
    .where('table_id', '=', tableId)
    .execute();
  return rows.map(entryOf);
}

/** Those of all tables of an app, by the id of the table. */
export async function tableGrantsOfApp(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<ReadonlyMap<string, TableGrantEntry[]>> {
  const rows = await db
    .withTables<Tables>()
    .selectFrom('table_grants')
    .select(['table_id', 'principal_type', 'principal_id', 'actions'])
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .execute();
  const byTable = new Map<string, TableGrantEntry[]>();
  for (const row of rows) byTable.set(row.table_id, [...(byTable.get(row.table_id) ?? []), entryOf(row)]);
  return byTable;
}

function entryOf(
  row: Pick<Tables['table_grants'], 'principal_type' | 'principal_id' | 'actions'>,
): TableGrantEntry {
  return { principalType: row.principal_type, principalId: row.principal_id, actions: row.actions };
}
