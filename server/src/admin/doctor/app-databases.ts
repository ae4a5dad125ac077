import { existsSync } from 'node:fs';
import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import type { ClientBase } from 'pg';
import pg from 'pg';
import type { ControlDatabase } from '../../core/db.ts';
import { installationKey } from '../../data/raw-databases/lifecycle.ts';
import {
  physicalColumnName,
  physicalForeignKeyName,
  physicalIndexName,
  physicalLogFunctionName,
  physicalLogName,
  physicalSchemaName,
  physicalTableName,
} from '../../data/tables/catalogue.ts';
import { isLogged, logTriggerNames } from '../../data/tables/change-log.ts';
import { physicalChecks } from '../../data/tables/ddl.ts';
import type { ColumnRow, TableRow } from '../../data/tables/store.ts';
import { clusterFolder } from '../../drivers/database/cluster.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { attachEmbedded } from '../../drivers/database/embedded.ts';
import { installationTag } from '../../drivers/raw-database/databases.ts';
import { rawDataDir } from '../../drivers/raw-database/raw-databases.ts';
import { describeServerProblem, findServerProblem } from '../../drivers/raw-database/server.ts';
import { adminUrl } from '../system.ts';
import { type DatabaseFacts, databaseCheck, errorText, type Finding, ok, problem, warning } from './check.ts';

interface ExpectedDatabases {
  made: string[];
  all: string[];
  tag: string;
}

export const rawDatabases = databaseCheck('raw databases', async (facts) => {
  const { config, database } = facts;
  const expected = await readExpected(facts);
  if (config.rawDatabaseUrl) return await checkServer(config.rawDatabaseUrl, expected);
  if (database.kind === 'embedded') return await checkOwn(config.dataDir, expected);
  if (expected.all.length === 0) return ok('No app has its own database.');
  const found = await checkServer(database.controlUrl, expected);
  if (found.status !== 'ok') return found;
  return warning(
    `${found.detail} They share the server of the control plane, which fails if one of them exhausts its locks or memory.`,
    'Set SVC_RAW_DATABASE_URL to another server, and ask the owners to enable them again.',
  );
});

async function readExpected({ control }: DatabaseFacts): Promise<ExpectedDatabases> {
  const known = await control.pool.query(
    `select from information_schema.columns
     where table_schema = 'svc' and table_name = 'raw_databases' and column_name = 'is_made'`,
  );
  if (known.rowCount === 0) return { made: [], all: [], tag: '' };
  const { rows } = await control.pool.query<{ database: string; is_made: boolean; state: string }>(
    'select database, is_made, state from svc.raw_databases order by 1',
  );
  const key = await control.pool.query<{ value: string }>(
    'select value from svc.platform_keys where name = $1',
    [installationKey],
  );
  return {
    made: rows.filter((row) => row.is_made && row.state !== 'dropping').map((row) => row.database),
    all: rows.map((row) => row.database),
    tag: key.rows[0] ? installationTag(JSON.parse(key.rows[0].value)) : '',
  };
}

async function checkOwn(dataDir: string, expected: ExpectedDatabases): Promise<Finding> {
  const folder = rawDataDir(dataDir);
  if (!existsSync(clusterFolder(folder))) {
    return expected.made.length > 0 ? missingProblem(expected.made) : ok('No app has its own database.');
  }
  const server = await attachEmbedded({ dataDir: folder, use: 'app_databases', log: () => {} });
  try {
    return await checkServer(server.controlUrl, expected);
  } finally {
    await server.stop();
  }
}

async function checkServer(url: string, expected: ExpectedDatabases): Promise<Finding> {
  try {
    return await withClient(adminUrl(url), (client) => checkDatabases(client, expected));
  } catch (error) {
    return problem(
      `The server of apps' own databases does not answer: ${errorText(error)}`,
      'Check SVC_RAW_DATABASE_URL, that the server runs and accepts connections from this machine.',
    );
  }
}

async function checkDatabases(client: ClientBase, expected: ExpectedDatabases): Promise<Finding> {
  const obstacle = await findServerProblem(client);
  if (obstacle)
    return problem("The server is not suitable for apps' own databases.", describeServerProblem(obstacle));
  const { rows } = await client.query<{ name: string; tag: string | null }>(
    `select datname as name, shobj_description(oid, 'pg_database') as tag from pg_database
     where datname ~ '^svc_raw_' order by 1`,
  );
  const gone = expected.made.filter((name) => !rows.some((row) => row.name === name));
  if (gone.length > 0) return missingProblem(gone);
  const orphans = rows.filter(({ name, tag }) => tag === expected.tag && !expected.all.includes(name));
  if (orphans.length > 0) {
    return warning(
      `Without an app, as after a restore: ${orphans.map(({ name }) => name).join(', ')}.`,
      'Save what is needed with pg_dump, then drop each, and its role if no other database needs it.',
    );
  }
  return ok(`Apps with their own database: ${expected.made.length}. All exist.`);
}

function missingProblem(names: readonly string[]): Finding {
  return problem(
    `Missing on the server: ${names.join(', ')}.`,
    'Restore them with svc-admin restore or from a backup of that server, or ask the owners to disable and enable them.',
  );
}

interface Defined extends Pick<TableRow, 'id' | 'app_id' | 'changes' | 'history_days' | 'soft_delete_days'> {
  name: string;
  columns: (Pick<ColumnRow, 'number' | 'type' | 'nullable' | 'checks'> & { ref_table: string | null })[];
  indexes: string[];
}

const namedMax = 10;
const unfinishedSeconds = 10;

export const tableDefinitions = databaseCheck('table definitions', async ({ control, database }) => {
  const { tables, differences } = await compareTables(control, database.rowsUrl);
  if (differences.length === 0) return ok(`The ${tables} tables of apps are as defined.`);
  const more = differences.length > namedMax ? ` and ${differences.length - namedMax} more` : '';
  return problem(
    `${differences.slice(0, namedMax).join('; ')}${more}.`,
    'The server finishes interrupted changes by itself while it runs. Otherwise the database was changed by hand: drop what is not defined, or restore a backup. To create the log of a table and its triggers again, without the changes so far, turn its change feed, history and trash off and on again.',
  );
});

/** What differs between the definitions and the tables of PostgreSQL, and changes that are not finished. */
export async function compareTables(control: Pick<ControlDatabase, 'pool'>, rowsUrl: string) {
  const { rows: defined } = await control.pool.query<Defined>(
    `select t.id, t.app_id, a.slug || '/' || t.name as name, t.changes, t.history_days, t.soft_delete_days,
       (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from svc.app_table_columns c where c.table_id = t.id) as columns,
       array(select i.id::text from svc.app_table_indexes i where i.table_id = t.id) as indexes
     from svc.app_tables t join svc.apps a on a.id = t.app_id order by 3`,
  );
  const types = [...new Set(defined.flatMap(({ columns }) => columns.map(({ type }) => type)))];
  const found = await readPhysical(rowsUrl, types);
  const differences = [
    ...(await unfinishedChanges(control)),
    ...defined.flatMap((table) => differentParts(table, found)),
    ...unknownTables(defined, found).map((name) => `${name} has no definition`),
  ];
  return { tables: defined.length, differences };
}

async function unfinishedChanges({ pool }: Pick<ControlDatabase, 'pool'>): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; at: Date; last_error: string | null }>(
    `select id, created_at as at, last_error from svc.table_intents
     where undone_at is null and created_at < now() - make_interval(secs => $1) order by created_at`,
    [unfinishedSeconds],
  );
  return rows.map(({ id, at, last_error }) => {
    const reason = last_error === null ? '' : ` (${last_error})`;
    return `the change ${id} of ${at.toISOString()} is not finished in the database of the tables${reason}`;
  });
}

interface PhysicalTable {
  columns: Record<string, string>;
  indexes: string[];
  keys: string[];
  checks: string[];
  triggers: string[];
}

interface LogPart {
  schema: string;
  kind: 'table' | 'function';
  name: string;
}

interface Physical {
  tables: ReadonlyMap<string, PhysicalTable>;
  /** By the name of the table whose changes are logged. */
  logs: ReadonlyMap<string, LogPart[]>;
  typeNames: ReadonlyMap<ColumnType, string>;
}

async function readPhysical(url: string, types: readonly ColumnType[]): Promise<Physical> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<PhysicalTable & { name: string }>(
      `select n.nspname || '.' || c.relname as name,
         (select coalesce(jsonb_object_agg(attname, atttypid::regtype::text || case when attnotnull then ' not null' else '' end), '{}')
           from pg_attribute where attrelid = c.oid and attname ~ '^c[0-9]+$' and attnum > 0 and not attisdropped) as columns,
         array(select i.relname::text from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = c.oid) as indexes,
         array(select conname::text from pg_constraint where conrelid = c.oid and contype = 'f') as keys,
         array(select conname::text from pg_constraint where conrelid = c.oid and contype = 'c') as checks,
         array(select tgname || case when tgenabled in ('O', 'A') then '' else ' (disabled)' end
           from pg_trigger where tgrelid = c.oid and not tgisinternal and tgname ~ '^log_') as triggers
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname ~ '^app_[0-9a-f]{32}$' and c.relname ~ '^t_[0-9a-f]{32}$'`,
    );
    const logs = await client.query<LogPart & { of: string }>(
      `select n.nspname || '.t_' || substr(l.name, 3) as of, n.nspname as schema, l.kind, l.name
       from (select relnamespace, 'table', relname::text from pg_class where relkind in ('r', 'p') and relname ~ '^l_[0-9a-f]{32}$'
         union all select pronamespace, 'function', proname::text from pg_proc where proname ~ '^f_[0-9a-f]{32}$') l (namespace, kind, name)
       join pg_namespace n on n.oid = l.namespace where n.nspname ~ '^app_[0-9a-f]{32}$'`,
    );
    const named = await client.query<{ name: string }>(
      'select to_regtype(sql)::text as name from unnest($1::text[]) with ordinality as t (sql, at) order by at',
      [types.map((type) => describeColumnType(type).sql)],
    );
    return {
      tables: new Map(rows.map(({ name, ...parts }) => [name, parts])),
      logs: Map.groupBy(logs.rows, (log) => log.of),
      typeNames: new Map(types.map((type, at) => [type, named.rows[at]?.name ?? ''])),
    };
  } finally {
    await client.end().catch(() => {});
  }
}

const nameOf = ({ app_id, id }: Defined) => `${physicalSchemaName(app_id)}.${physicalTableName(id)}`;

function differentParts(table: Defined, { tables, logs, typeNames }: Physical): string[] {
  const physical = tables.get(nameOf(table));
  if (!physical) return [`${table.name} has no table in PostgreSQL`];
  const columns = new Map(
    table.columns.map(({ number, type, nullable }) => [
      physicalColumnName(number),
      `${typeNames.get(type)}${nullable ? '' : ' not null'}`,
    ]),
  );
  const referring = table.columns.filter(({ ref_table }) => ref_table !== null);
  const log = isLogged(table)
    ? {
        table: [physicalLogName(table.id)],
        function: [physicalLogFunctionName(table.id)],
        triggers: logTriggerNames,
      }
    : { table: [], function: [], triggers: [] };
  const foundLog = (kind: 'table' | 'function') =>
    (logs.get(nameOf(table)) ?? []).filter((part) => part.kind === kind).map(({ name }) => name);
  const lists = {
    column: [[...columns.keys()], Object.keys(physical.columns)],
    index: [table.indexes.map(physicalIndexName), physical.indexes.filter((name) => name.startsWith('i_'))],
    'foreign key': [referring.map(({ number }) => physicalForeignKeyName(number)), physical.keys],
    check: [table.columns.flatMap(physicalChecks).map(({ name }) => name), physical.checks],
    'log of changes': [log.table, foundLog('table')],
    'function of triggers': [log.function, foundLog('function')],
    trigger: [log.triggers, physical.triggers],
  } as const;
  return [
    ...Object.entries(lists).flatMap(([kind, [required, found]]) => [
      ...required
        .filter((name) => !found.includes(name))
        .map((name) => `${table.name} lacks the ${kind} ${name}`),
      ...found
        .filter((name) => !required.includes(name))
        .map((name) => `${table.name} has the ${kind} ${name}, which is not defined`),
    ]),
    ...[...columns].flatMap(([name, type]) => {
      const is = physical.columns[name];
      return is === undefined || is === type ? [] : [`${table.name}.${name} is ${is} in place of ${type}`];
    }),
  ];
}

function unknownTables(defined: readonly Defined[], { tables, logs }: Physical): string[] {
  const known = new Set(defined.map(nameOf));
  return [
    ...[...tables.keys()].filter((name) => !known.has(name)),
    ...[...logs]
      .filter(([name]) => !known.has(name))
      .flatMap(([, parts]) => parts.map(({ schema, name }) => `${schema}.${name}`)),
  ];
}
