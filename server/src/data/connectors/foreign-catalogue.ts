import { presetRules } from '@svc/contract/table-rules.ts';
import { escapeIdentifier as ident } from 'pg';
import type { ForeignColumn, ForeignTable } from '../../drivers/connectors/types.ts';
import type { CatalogueColumn, ForeignSource, TableCatalogue } from '../tables/catalogue.ts';

/** The table of a connector as the row pipeline knows tables. */
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
