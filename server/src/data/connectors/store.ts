import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import type { ForeignTable } from '../../drivers/connectors/types.ts';

interface TableRow {
  connector_id: string;
  tenant_id: string;
  schema_name: string;
  table_name: string;
  kind: ForeignTable['kind'];
  columns: ForeignTable['columns'];
  primary_key: string[];
}
type Tables = { connector_tables: TableRow };

interface ConnectorRef {
  tenantId: string;
  connectorId: string;
}

export async function listConnectorTableRows(db: Db, connector: ConnectorRef, window: PageWindow) {
  const { rows, total } = await fetchPage(
    selectTables(db, connector).orderBy('schema_name').orderBy('table_name'),
    window,
  );
  return { tables: rows.map(foreignTable), total };
}

export async function listAllConnectorTables(db: Db, connector: ConnectorRef): Promise<ForeignTable[]> {
  return (await selectTables(db, connector).execute()).map(foreignTable);
}

export async function findConnectorTable(
  db: Db,
  connector: ConnectorRef,
  { schema, name }: Pick<ForeignTable, 'schema' | 'name'>,
): Promise<ForeignTable | null> {
  const row = await selectTables(db, connector)
    .where('schema_name', '=', schema)
    .where('table_name', '=', name)
    .executeTakeFirst();
  return row ? foreignTable(row) : null;
}

export async function replaceConnectorTables(
  tx: Tx,
  { tenantId, connectorId }: ConnectorRef,
  tables: readonly ForeignTable[],
): Promise<void> {
  await sql`delete from svc.connector_tables where connector_id = ${connectorId}`.execute(tx);
  const rows = tables.map(({ schema, name, kind, columns, primary_key }) => ({
    schema_name: schema,
    table_name: name,
    kind,
    columns,
    primary_key,
  }));
  await sql`insert into svc.connector_tables
    (connector_id, tenant_id, schema_name, table_name, kind, columns, primary_key)
    select ${connectorId}, ${tenantId}, r.schema_name, r.table_name, r.kind, r.columns, r.primary_key
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as r (schema_name text, table_name text, kind text, columns jsonb, primary_key text[])`.execute(tx);
}

function foreignTable({ schema_name, table_name, kind, columns, primary_key }: TableRow): ForeignTable {
  return { schema: schema_name, name: table_name, kind, columns, primary_key };
}

function selectTables(db: Db, { tenantId, connectorId }: ConnectorRef) {
  return db
    .withTables<Tables>()
    .selectFrom('connector_tables')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connector_id', '=', connectorId);
}
