import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import pg from 'pg';
import {
  physicalColumnName,
  physicalForeignKeyName,
  physicalIndexName,
  physicalSchemaName,
  physicalTableName,
} from '../../data/tables/catalogue.ts';
import { adminUrl } from '../system.ts';
import { type DatabaseFacts, databaseCheck, ok, problem } from './check.ts';

interface Defined {
  id: string;
  app_id: string;
  name: string;
  columns: { number: number; type: ColumnType; nullable: boolean; ref_table: string | null }[];
  indexes: string[];
}

const namedMax = 10;
const unfinishedSeconds = 10;

/** A change of a table that was interrupted between two databases can leave them different. */
export const tableDefinitions = databaseCheck('table definitions', async (facts) => {
  const { rows: defined } = await facts.control.pool.query<Defined>(
    `select t.id, t.app_id, a.slug || '/' || t.name as name,
       (select jsonb_agg(to_jsonb(c)) from svc.app_table_columns c where c.table_id = t.id) as columns,
       array(select i.id::text from svc.app_table_indexes i where i.table_id = t.id) as indexes
     from svc.app_tables t join svc.apps a on a.id = t.app_id order by 3`,
  );
  const types = [...new Set(defined.flatMap(({ columns }) => columns.map(({ type }) => type)))];
  const found = await readPhysical(facts.database.rowsUrl, types);
  const differences = [
    ...(await unfinishedChanges(facts)),
    ...defined.flatMap((table) => differentParts(table, found)),
    ...unknownTables(defined, found).map((name) => `${name} has no definition`),
  ];
  if (differences.length === 0) return ok(`The ${defined.length} tables of apps are as defined.`);
  const more = differences.length > namedMax ? ` and ${differences.length - namedMax} more` : '';
  return problem(
    `${differences.slice(0, namedMax).join('; ')}${more}.`,
    'The server finishes interrupted changes by itself while it runs. Otherwise the database was changed by hand: drop the table or column again, or restore a backup.',
  );
});

async function unfinishedChanges({ control }: DatabaseFacts): Promise<string[]> {
  const { rows } = await control.pool.query<{ id: string; at: Date; last_error: string | null }>(
    `select id, created_at as at, last_error from svc.table_intents
     where undone_at is null and created_at < now() - make_interval(secs => $1) order by created_at`,
    [unfinishedSeconds],
  );
  return rows.map(({ id, at, last_error }) => {
    const reason = last_error === null ? '' : ` (${last_error})`;
    return `the change ${id} of ${at.toISOString()} is not finished in the database of the tables${reason}`;
  });
}

interface Physical {
  /** By `schema.table`; columns by name, such as `int4 not null`. */
  tables: ReadonlyMap<string, { columns: Record<string, string>; indexes: string[]; keys: string[] }>;
  /** The names of column types in PostgreSQL. */
  typeNames: ReadonlyMap<ColumnType, string>;
}

async function readPhysical(url: string, types: readonly ColumnType[]): Promise<Physical> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{
      name: string;
      columns: Record<string, string>;
      indexes: string[];
      keys: string[];
    }>(
      `select n.nspname || '.' || c.relname as name,
         (select coalesce(jsonb_object_agg(attname, atttypid::regtype::text || case when attnotnull then ' not null' else '' end), '{}')
           from pg_attribute where attrelid = c.oid and attname ~ '^c[0-9]+$' and attnum > 0 and not attisdropped) as columns,
         array(select i.relname::text from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = c.oid) as indexes,
         array(select conname::text from pg_constraint where conrelid = c.oid and contype = 'f') as keys
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname ~ '^app_[0-9a-f]{32}$' and c.relname ~ '^t_[0-9a-f]{32}$'`,
    );
    const named = await client.query<{ name: string }>(
      'select to_regtype(sql)::text as name from unnest($1::text[]) with ordinality as t (sql, at) order by at',
      [types.map((type) => describeColumnType(type).sql)],
    );
    return {
      tables: new Map(rows.map(({ name, ...parts }) => [name, parts])),
      typeNames: new Map(types.map((type, at) => [type, named.rows[at]?.name ?? ''])),
    };
  } finally {
    await client.end().catch(() => {});
  }
}

const nameOf = ({ app_id, id }: Defined) => `${physicalSchemaName(app_id)}.${physicalTableName(id)}`;

function differentParts(table: Defined, { tables, typeNames }: Physical): string[] {
  const physical = tables.get(nameOf(table));
  if (!physical) return [`${table.name} has no table in PostgreSQL`];
  const columns = new Map(
    table.columns.map(({ number, type, nullable }) => [
      physicalColumnName(number),
      `${typeNames.get(type)}${nullable ? '' : ' not null'}`,
    ]),
  );
  const referring = table.columns.filter(({ ref_table }) => ref_table !== null);
  const lists = {
    column: [[...columns.keys()], Object.keys(physical.columns)],
    index: [table.indexes.map(physicalIndexName), physical.indexes.filter((name) => name.startsWith('i_'))],
    'foreign key': [referring.map(({ number }) => physicalForeignKeyName(number)), physical.keys],
  } as const;
  return [
    ...Object.entries(lists).flatMap(([kind, [wanted, found]]) => [
      ...wanted
        .filter((name) => !found.includes(name))
        .map((name) => `${table.name} lacks the ${kind} ${name}`),
      ...found
        .filter((name) => !wanted.includes(name))
        .map((name) => `${table.name} has the ${kind} ${name}, which is not defined`),
    ]),
    ...[...columns].flatMap(([name, type]) => {
      const is = physical.columns[name];
      return is === undefined || is === type ? [] : [`${table.name}.${name} is ${is} in place of ${type}`];
    }),
  ];
}

function unknownTables(defined: readonly Defined[], { tables }: Physical): string[] {
  const known = new Set(defined.map(nameOf));
  return [...tables.keys()].filter((name) => !known.has(name));
}
