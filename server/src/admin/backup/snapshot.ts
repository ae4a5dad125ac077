import pg, { type ClientBase, escapeIdentifier as ident } from 'pg';
import { sqlState } from '../../plumbing/database-errors.ts';
import { adminUrl } from '../system.ts';

export interface TableFacts {
  schema: string;
  name: string;
  columns: string[];
}

/** The schemas of the platform's own data, and of one app each. */
export const controlSchema = 'svc';
export const isAppSchema = (column: string) => `${column} like 'app\\_%'`;

const attemptsMax = 5;

/**
 * A connection that sees the database as it is at one moment, for as long as it takes. What the text of values depends
 * on is set, so that any server reads them the same.
 */
export async function openSnapshot(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(settingsOfCopy);
    for (let attempt = 1; !(await tryBegin(client)); attempt++) {
      if (attempt === attemptsMax) throw new Error('Tables come and go all the time; try again.');
    }
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

/** `row_security off` makes rows that we may not see an error; otherwise they would be missing in silence. */
export const settingsOfCopy = `
  set search_path = pg_catalog; set client_encoding = 'UTF8'; set timezone = 'UTC'; set datestyle = 'ISO, YMD';
  set intervalstyle = 'postgres'; set extra_float_digits = 1; set bytea_output = 'hex'; set xmloption = 'content';
  set synchronize_seqscans = off; set row_security = off; set statement_timeout = 0; set lock_timeout = '30s';
  set idle_in_transaction_session_timeout = 0; set check_function_bodies = off`;

/** The locks come before the snapshot: what is seen afterwards can't be dropped or altered until it is read. */
async function tryBegin(client: ClientBase): Promise<boolean> {
  const names = (await listTables(client)).map((table) => `${ident(table.schema)}.${ident(table.name)}`);
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

/** Generated columns are left out: they are made from the others. */
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

/** Two URLs may name one database by different logins. */
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
