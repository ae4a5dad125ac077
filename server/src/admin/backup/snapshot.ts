import pg, { type ClientBase, escapeIdentifier as ident } from 'pg';
import { sqlState } from '../../core/db.ts';
import { adminUrl } from '../system.ts';
import {
  closedFunctionsSql,
  commentsSql,
  constraintsSql,
  excludedSql,
  foreignKeysSql,
  functionsSql,
  grantsSql,
  indexesSql,
  ownedSequencesSql,
  policiesSql,
  rowSecuritySql,
  sequencesSql,
  statisticsSql,
  tablesSql,
  triggersSql,
} from './schema-sql.ts';

export interface TableFacts {
  schema: string;
  name: string;
  columns: string[];
}

export const controlSchema = 'svc';
const isAppSchema = (column: string) => `${column} like 'app\\_%'`;

const attemptsMax = 5;

export async function openSnapshot(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await beginSnapshot(client, listTables);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

export async function beginSnapshot(client: ClientBase, list: typeof listTables): Promise<void> {
  await client.query(copySettings);
  for (let attempt = 1; !(await tryBegin(client, list)); attempt++) {
    if (attempt === attemptsMax) throw new Error('Tables are being created and dropped; try again.');
  }
}

/** `row_security off` turns invisible rows into an error. */
export const copySettings = `
  set search_path = pg_catalog; set client_encoding = 'UTF8'; set timezone = 'UTC'; set datestyle = 'ISO, YMD';
  set intervalstyle = 'postgres'; set extra_float_digits = 1; set bytea_output = 'hex'; set xmloption = 'content';
  set synchronize_seqscans = off; set row_security = off; set statement_timeout = 0; set lock_timeout = '30s';
  set idle_in_transaction_session_timeout = 0; set check_function_bodies = off`;

/** Locks before the snapshot, so that its tables cannot be dropped or altered. */
async function tryBegin(client: ClientBase, list: typeof listTables): Promise<boolean> {
  const names = (await list(client)).map((table) => `${ident(table.schema)}.${ident(table.name)}`);
  await client.query('begin isolation level repeatable read, read only');
  if (names.length === 0) return true;
  try {
    await client.query(`lock table only ${names.join(', only ')} in access share mode`);
    return true;
  } catch (error) {
    await client.query('rollback');
    if (sqlState(error) === '42P01' || sqlState(error) === '3F000') return false;
    throw error;
  }
}

export async function listTables(client: ClientBase): Promise<TableFacts[]> {
  const { rows } = await client.query<TableFacts>(
    `select n.nspname as schema, c.relname as name, array(
       select a.attname::text from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       order by a.attnum) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and (n.nspname = $1 or ${isAppSchema('n.nspname')})
     order by n.nspname = $1 desc, n.nspname, c.relname`,
    [controlSchema],
  );
  return rows;
}

export async function listAppSchemas(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where ${isAppSchema('nspname')} order by 1`,
  );
  return rows.map((row) => row.name);
}

/** Two URLs may name the same database with different logins. */
export async function isSameDatabase(one: ClientBase, other: ClientBase): Promise<boolean> {
  const identity = async (client: ClientBase) => {
    const { rows } = await client.query<{ id: string }>(
      `select pg_postmaster_start_time()::text || oid || datname as id
       from pg_database where datname = current_database()`,
    );
    return rows[0]?.id;
  };
  return (await identity(one)) === (await identity(other));
}

export interface SchemaDump {
  name: string;
  beforeRows: string[];
  afterRows: string[];
  /** Run after all schemas exist, because they may refer to each other. */
  last: string[];
  forRowsRole: { before: string; after: string }[];
}

export async function dumpSchema(
  client: ClientBase,
  { schema, rowsRole }: { schema: string; rowsRole: string },
): Promise<{ dump: SchemaDump; leftOut: string[] }> {
  const statements = async (...queries: readonly string[]) => {
    const found: string[] = [];
    for (const query of queries) {
      found.push(...(await client.query<{ sql: string }>(query, [schema])).rows.map((row) => row.sql));
    }
    return found;
  };
  const rights = [
    ...(await client.query<Right>(grantsSql, [schema, rowsRole])).rows,
    ...(await client.query<Right>(policiesSql, [schema, rowsRole])).rows,
  ];
  const rightsOf = (who: string) => rights.filter((right) => right.who === who);
  const objects = await client.query<{ what: string }>(excludedSql, [schema]);
  const dump: SchemaDump = {
    name: schema,
    beforeRows: [
      `create schema ${ident(schema)}`,
      ...(await statements(functionsSql, sequencesSql, tablesSql)),
    ],
    afterRows: await statements(
      ownedSequencesSql,
      constraintsSql,
      indexesSql,
      statisticsSql,
      commentsSql,
      closedFunctionsSql,
    ),
    last: [
      ...(await statements(foreignKeysSql, triggersSql, rowSecuritySql)),
      ...rightsOf('public').map(({ before, after }) => `${before}public${after}`),
    ],
    forRowsRole: rightsOf('rows').map(({ before, after }) => ({ before, after })),
  };
  const otherRoles = rights.filter((right) => right.who.startsWith('role '));
  return {
    dump,
    leftOut: [
      ...objects.rows.map((row) => row.what),
      ...new Set(otherRoles.map((right) => `rights of ${right.who} on ${right.what}`)),
    ],
  };
}

interface Right {
  before: string;
  after: string;
  who: string;
  what: string;
}
