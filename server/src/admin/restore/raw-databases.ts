import { randomBytes } from 'node:crypto';
import { type Client, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { sqlState } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { scramVerifier } from '../../drivers/database/roles.ts';
import {
  closeDatabase,
  databaseExists,
  dropDatabase,
  isForeign,
  joinRole,
} from '../../drivers/raw-database/databases.ts';
import {
  describeServerProblem,
  findServerProblem,
  inDatabase,
  rawUrl,
  revokePublicConnect,
} from '../../drivers/raw-database/server.ts';
import { qualifiedName } from '../backup/archive.ts';
import { type Manifest, parseRawPath, parseTablePath, tableKey } from '../backup/manifest.ts';
import type { Definitions } from '../backup/raw/dump-definitions.ts';
import { definitionsName, endName } from '../backup/raw/raw-entries.ts';
import { copySettings, type TableFacts } from '../backup/snapshot.ts';
import { damagedError } from '../backup/tar-reader.ts';
import { adminUrl } from '../system.ts';
import { copyInto, type Entries } from './copy-in.ts';
import { readWhole } from './verify-backup.ts';

const loadingName = (name: string) => `${name}_restoring`;
const withoutFlag = 'or restore with --exclude raw-databases';

export interface RestoredRawDatabases {
  /** A database that no app has used, and a login that owns all in it: functions of the app run with no other rights. */
  create(name: string): Promise<{ url: string }>;
  finish(name: string, definitions: Definitions): Promise<void>;
  exchange(): Promise<{ undo(): Promise<void>; renamed: string[] }>;
  remove(): Promise<void>;
}

export async function restoreRawDatabases(
  admin: Client,
  {
    url,
    installation,
    names,
    now,
  }: { url: string; installation: string | null; names: readonly string[]; now: Date },
): Promise<RestoredRawDatabases> {
  await requireServer(admin);
  for (const name of names) await requireReplaceable(admin, name, installation);
  const loaded = new Set<string>();
  const madeRoles = new Set<string>();
  return {
    create: async (name) => {
      const password = randomBytes(24).toString('base64url');
      await dropLoading(admin, name);
      loaded.add(name);
      if (!(await roleExists(admin, name))) {
        await admin.query(`create role ${ident(name)} nologin`);
        madeRoles.add(name);
      }
      await joinRole(admin, ident(name));
      await createLoading(admin, name, password);
      const loading = loadingName(name);
      await withClient(inDatabase(url, loading), (client) =>
        client.query(`alter schema public owner to ${ident(loading)}`),
      );
      return { url: rawUrl(url, { user: loading, password, database: loading }) };
    },
    finish: async (name, definitions) => {
      const loading = ident(loadingName(name));
      await admin.query(`grant connect, create, temporary on database ${loading} to ${ident(name)}`);
      const changeOwner = async (client: Client) => {
        await client.query('set search_path = pg_catalog');
        // Schemas first: a new owner of a table needs the right to create in its schema.
        const schemas = await client.query<{ name: string }>(
          'select nspname as name from pg_namespace where pg_get_userbyid(nspowner) = $1',
          [loadingName(name)],
        );
        for (const schema of schemas.rows)
          await client.query(`alter schema ${ident(schema.name)} owner to ${ident(name)}`);
        await client.query(`reassign owned by ${loading} to ${ident(name)}`);
        await client.query(`drop owned by ${loading}`);
        // Nothing in here runs a function of the app.
        await client.query(`set role ${ident(name)}`);
        await runAccess(client, definitions, loading);
      };
      await withClient(adminUrl(inDatabase(url, loadingName(name))), changeOwner, { queryMsMax: 'none' });
      await admin.query(`drop role ${loading}`);
    },
    exchange: () => exchange(admin, [...loaded], now),
    remove: async () => {
      for (const name of loaded) {
        await dropLoading(admin, name);
        if (madeRoles.has(name) && !(await databaseExists(admin, name)))
          await admin.query(`drop role if exists ${ident(name)}`);
      }
    },
  };
}

async function requireServer(admin: Client): Promise<void> {
  await revokePublicConnect(admin);
  const problem = await findServerProblem(admin);
  if (!problem) return;
  throw fail('invalid_state_transition', {
    detail: `${describeServerProblem(problem)} Or restore with --exclude raw-databases.`,
  });
}

async function requireReplaceable(admin: Client, name: string, installation: string | null): Promise<void> {
  if (!(await databaseExists(admin, name))) return;
  if (installation !== null && !(await isForeign(admin, name, installation))) return;
  throw fail('invalid_state_transition', {
    detail:
      `The server of apps' own databases has a database ${name} of another installation: set SVC_RAW_DATABASE_URL to another ` +
      `server, drop it with its role if it is not needed, ${withoutFlag}.`,
  });
}

async function createLoading(admin: Client, name: string, password: string): Promise<void> {
  const loading = ident(loadingName(name));
  await admin.query(`create role ${loading} nologin`);
  await joinRole(admin, loading);
  await admin.query(`create database ${loading} template template0 allow_connections false`);
  await admin.query(`revoke all on database ${loading} from public`);
  await admin.query(`grant connect, create, temporary on database ${loading} to ${loading}`);
  await admin.query(`alter database ${loading} allow_connections true`);
  await admin.query(
    `alter role ${loading} login connection limit 2 password ${literal(scramVerifier(password))}`,
  );
}

async function runAccess(client: Client, definitions: Definitions, database: string): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // MAINTAIN exists since PostgreSQL 17.
  const isOld = (rows[0]?.version ?? 0) < 170_000;
  for (const statement of definitions.access) {
    if (isOld && /^grant MAINTAIN\b/.test(statement)) continue;
    await runDefinition(client, statement.replace(':database', database), definitions);
  }
}

const missingStates = ['42P01', '42704', '42883', '42703', '3F000'];

async function runDefinition(client: Client, statement: string, { isPartial }: Definitions): Promise<void> {
  try {
    await client.query(statement);
  } catch (cause) {
    if (isPartial && missingStates.includes(sqlState(cause) ?? '')) return;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `The database rejected "${statement}": ${reason} (To leave raw databases out: --exclude raw-databases.)`,
      {
        cause,
      },
    );
  }
}

async function exchange(
  admin: Client,
  names: readonly string[],
  now: Date,
): Promise<{ undo(): Promise<void>; renamed: string[] }> {
  const done: [string, string][] = [];
  const renamed: string[] = [];
  const closed: string[] = [];
  const rename = async (from: string, to: string) => {
    await admin.query(`alter database ${ident(from)} rename to ${ident(to)}`);
    done.push([from, to]);
  };
  const undo = async () => {
    for (const [from, to] of done.splice(0).reverse())
      await admin.query(`alter database ${ident(to)} rename to ${ident(from)}`);
    for (const name of closed.splice(0)) await admin.query(`alter role ${ident(name)} login`);
  };
  try {
    for (const name of names) {
      if (await databaseExists(admin, name)) {
        if (await canLogIn(admin, name)) closed.push(name);
        await closeDatabase(admin, name);
        const replaced = `${name}_until_${Math.floor(now.getTime() / 1000)}`;
        await rename(name, replaced);
        renamed.push(replaced);
      }
      await rename(loadingName(name), name);
      // A role with a limit is complete: the server gives it its password, and touches nothing in the database.
      await admin.query(`alter role ${ident(name)} connection limit 1`);
    }
    return { undo, renamed };
  } catch (error) {
    await undo();
    throw error;
  }
}

async function dropLoading(admin: Client, name: string): Promise<void> {
  await dropDatabase(admin, loadingName(name));
}

async function canLogIn(admin: Client, name: string): Promise<boolean> {
  return (
    (await admin.query('select from pg_roles where rolname = $1 and rolcanlogin', [name])).rowCount !== 0
  );
}

async function roleExists(admin: Client, name: string): Promise<boolean> {
  return (await admin.query('select from pg_roles where rolname = $1', [name])).rowCount !== 0;
}

type Dump = Definitions & { tables: TableFacts[] };

export async function loadRawDatabase(
  entries: Entries,
  raw: RestoredRawDatabases,
  note: (line: string) => void,
): Promise<void> {
  const first = await entries.peek();
  const of = parseRawPath(first?.path ?? '');
  if (!first || of?.inside !== definitionsName) throw damagedError('a raw database has no definitions');
  const dump = JSON.parse((await readWhole(first.content)).toString()) as Dump;
  entries.advance();
  const { url } = await raw.create(of.database);
  const load = async (client: Client) => {
    // Functions of the app may count on its search path; all names in the definitions are qualified.
    await client.query(`${copySettings}; reset search_path`);
    for (const statement of dump.beforeRows) await runDefinition(client, statement, dump);
    const sequences = await loadContent(client, entries, dump);
    for (const statement of dump.afterRows) await runDefinition(client, statement, dump);
    for (const { schema, name, last_value, is_called } of sequences) {
      const values = [qualifiedName({ schema, name }), last_value, is_called];
      await client.query('select pg_catalog.setval($1::regclass, $2, $3)', values);
    }
    for (const statement of dump.refresh)
      await client
        .query(statement)
        .catch((error: unknown) => note(`In ${of.database}, "${statement}" failed: ${String(error)}`));
  };
  await withClient(url, load, { queryMsMax: 'none' });
  await raw.finish(of.database, dump);
}

async function loadContent(client: Client, entries: Entries, { tables }: Dump) {
  const parse = (path: string) => parseTablePath(parseRawPath(path)?.inside ?? '');
  for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
    const inside = parseRawPath(entry.path)?.inside ?? '';
    const found = parse(entry.path);
    const table = found && tables.find((listed) => tableKey(listed) === tableKey(found));
    const [, large, at] = /^large-objects\/(\d+)\/(\d+)$/.exec(inside) ?? [];
    if (table) {
      await copyInto(client, { entries, table, parse });
      continue;
    }
    if (large !== undefined && at !== undefined) {
      if (at === '0') await client.query('select lo_create($1::oid)', [large]);
      await client.query('select lo_put($1::oid, $2, $3)', [large, at, await readWhole(entry.content)]);
    } else if (inside === endName) {
      const { sequences } = JSON.parse((await readWhole(entry.content)).toString()) as Pick<
        Manifest,
        'sequences'
      >;
      entries.advance();
      return sequences;
    } else throw damagedError(`${entry.path} is not expected`);
    entries.advance();
  }
  throw damagedError('a raw database is not complete');
}
