import { presetRules } from '@svc/contract/table-rules.ts';
import { sql } from 'kysely';
import { escapeIdentifier as ident } from 'pg';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import type { ForeignColumn, ForeignTable } from '../../drivers/connectors/types.ts';
import type { CatalogueColumn, ForeignSource, TableCatalogue } from '../tables/catalogue.ts';

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

/** By `schema/table`. */
export async function findConnectorTables(
  db: Db,
  connector: ConnectorRef,
  paths: readonly string[],
): Promise<ForeignTable[]> {
  const isNamed = sql<boolean>`schema_name || '/' || table_name = any(${paths}::text[])`;
  return (await selectTables(db, connector).where(isNamed).execute()).map(foreignTable);
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

export function foreignCatalogue(
  table: ForeignTable,
  { id, tenantId, kind }: { id: string; tenantId: string; kind: ForeignSource['kind'] },
): TableCatalogue {
  const isKey = (name: string) => table.primary_key.length === 1 && table.primary_key[0] === name;
  const columns = table.columns.map((column) => catalogueColumn(column, isKey(column.name)));
  const keys = table.primary_key.flatMap((name) => columns.find((column) => column.name === name) ?? []);
  const single = keys.length === 1 ? keys[0] : undefined;
  const synthetic = single ? null : syntheticKey;
  return {
    id: `${id}/${table.schema}/${table.name}`,
    tenantId,
    appId: id,
    name: `${table.schema}/${table.name}`,
    schema: table.schema,
    table: table.name,
    version: 1,
    columns: synthetic ? [...columns, synthetic] : columns,
    idColumn: single ?? syntheticKey,
    owner: null,
    unique: [],
    rules: presetRules.closed,
    foreign: { kind, keys, from: fromSql(table, kind, keys) },
  };
}

/** Orders rows that have no single key. Nobody can name it. */
const syntheticKey: CatalogueColumn = {
  name: '',
  physical: 'svc key',
  type: 'text',
  nullable: false,
  default: null,
  role: 'id',
  hasOtherOrder: true,
};

function catalogueColumn(column: ForeignColumn, isKey: boolean): CatalogueColumn {
  const { name, type, nullable, json, has_byte_order, has_default, is_generated } = column;
  return {
    name,
    physical: name,
    type,
    nullable,
    default: null,
    role: isKey ? 'id' : 'plain',
    ...(json ? { json, sqlType: 'numeric' } : {}),
    ...(type === 'text' && !has_byte_order ? { hasOtherOrder: true } : {}),
    ...(nullable || has_default || is_generated ? {} : { isRequired: true }),
  };
}

/** The table itself, or a select that gives every column a type of ours. Both servers merge it into the outer query. */
function fromSql(
  { schema, name, columns }: ForeignTable,
  kind: ForeignSource['kind'],
  keys: readonly CatalogueColumn[],
): string {
  const table = `${ident(schema)}.${ident(name)}`;
  if (keys.length === 1 && columns.every(({ expression }) => expression === null)) return table;
  const items = columns.map(({ name, expression }) =>
    expression === null ? ident(name) : `${expression.replaceAll('$', () => ident(name))} as ${ident(name)}`,
  );
  if (keys.length !== 1) {
    const parts = (keys.length === 0 ? columns : keys).map(({ name }) => keyPart(kind, ident(name)));
    items.push(`concat_ws(',', ${parts.join(', ')}) as ${ident(syntheticKey.physical)}`);
  }
  return `(select ${items.join(', ')} from ${table})`;
}

function keyPart(kind: ForeignSource['kind'], name: string): string {
  const text = kind === 'postgres' ? `${name}::text` : `convert(cast(${name} as char) using utf8mb4)`;
  return `coalesce(replace(replace(${text}, '%', '%25'), ',', '%2C'), '')`;
}
