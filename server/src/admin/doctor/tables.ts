import pg from 'pg';
import {
  physicalColumnName,
  physicalIndexName,
  physicalSchemaName,
  physicalTableName,
} from '../../data/tables/catalogue.ts';
import { adminUrl } from '../system.ts';
import { databaseCheck, ok, problem } from './check.ts';

interface Defined {
  id: string;
  app_id: string;
  name: string;
  columns: number[];
  indexes: string[];
}

const namedMax = 10;

/** A change of a table that was interrupted between two databases can leave them different. */
export const tableDefinitions = databaseCheck('table definitions', async ({ database, control }) => {
  const { rows: defined } = await control.pool.query<Defined>(
    `select t.id, t.app_id, a.slug || '/' || t.name as name,
       array(select c.number::int from svc.app_table_columns c where c.table_id = t.id) as columns,
       array(select i.id::text from svc.app_table_indexes i where i.table_id = t.id) as indexes
     from svc.app_tables t join svc.apps a on a.id = t.app_id order by 3`,
  );
  const found = await readPhysical(database.rowsUrl);
  const differences = [
    ...defined.flatMap((table) => missingParts(table, found)),
    ...unknownTables(defined, found).map((name) => `${name} has no definition`),
  ];
  if (differences.length === 0) return ok(`The ${defined.length} tables of apps are as defined.`);
  const more = differences.length > namedMax ? ` and ${differences.length - namedMax} more` : '';
  return problem(
    `${differences.slice(0, namedMax).join('; ')}${more}.`,
    'A change of these tables was interrupted, or the database was changed by hand. Drop the table or column again, or restore a backup.',
  );
});

/** By `schema.table`: its columns and indexes. */
type Physical = ReadonlyMap<string, { columns: readonly string[]; indexes: readonly string[] }>;

async function readPhysical(url: string): Promise<Physical> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ name: string; columns: string[]; indexes: string[] }>(
      `select n.nspname || '.' || c.relname as name,
         array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns,
         array(select i.relname::text from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = c.oid) as indexes
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname ~ '^app_[0-9a-f]{32}$' and c.relname ~ '^t_[0-9a-f]{32}$'`,
    );
    return new Map(rows.map(({ name, ...parts }) => [name, parts]));
  } finally {
    await client.end().catch(() => {});
  }
}

const nameOf = ({ app_id, id }: Defined) => `${physicalSchemaName(app_id)}.${physicalTableName(id)}`;

function missingParts(table: Defined, found: Physical): string[] {
  const physical = found.get(nameOf(table));
  if (!physical) return [`${table.name} has no table in PostgreSQL`];
  const columns = table.columns
    .map(physicalColumnName)
    .filter((column) => !physical.columns.includes(column));
  const indexes = table.indexes.map(physicalIndexName).filter((index) => !physical.indexes.includes(index));
  const known = table.indexes.map(physicalIndexName);
  const unknown = physical.indexes.filter((index) => index.startsWith('i_') && !known.includes(index));
  return [
    ...columns.map((column) => `${table.name} lacks the column ${column}`),
    ...indexes.map((index) => `${table.name} lacks the index ${index}`),
    ...unknown.map((index) => `${table.name} has the index ${index}, which is not defined`),
  ];
}

function unknownTables(defined: readonly Defined[], found: Physical): string[] {
  const known = new Set(defined.map(nameOf));
  return [...found.keys()].filter((name) => !known.has(name));
}
