import { type Client, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { sqlState } from '../../core/db.ts';
import { withClient } from '../database/connect.ts';
import { scramVerifier } from '../database/roles.ts';
import {
  describeServerProblem,
  findServerProblem,
  inDatabase,
  rawUrl,
  readerName,
  revokePublicConnect,
} from './server.ts';

export interface DatabaseSpec {
  name: string;
  password: string;
  connectionsMax: number;
  /** `fail` for a database that existed before: a new, empty one must not silently replace it. */
  ifMissing: 'create' | 'fail';
  disconnectClients: boolean;
}

const idleInTransactionMax = '5min';

/** Every step is idempotent, so an interrupted run can be repeated. The role can log in only after the last step. */
export async function ensureDatabase(
  admin: Client,
  { url, installation }: { url: string; installation: string },
  spec: DatabaseSpec,
): Promise<void> {
  const name = ident(spec.name);
  const role = await findRole(admin, spec.name);
  const isNew = !(await databaseExists(admin, spec.name));
  if (isNew && spec.ifMissing === 'fail') throw new Error(`The database ${spec.name} no longer exists.`);
  if (await isForeign(admin, spec.name, installation))
    throw new Error(`The database ${spec.name} belongs to another installation.`);
  // A problem that appeared later on the server must not lock an app out of its existing database.
  if (isNew || role !== 'complete') {
    await revokePublicConnect(admin);
    const problem = await findServerProblem(admin);
    if (problem) throw new Error(describeServerProblem(problem));
  }
  if (role === 'none') await admin.query(`create role ${name} nologin`);
  await joinRole(admin, name);
  if (isNew) {
    // The platform owns the database, so that the role cannot change who may connect. No connections are
    // allowed until PUBLIC is revoked.
    await admin.query(`create database ${name} template template0 allow_connections false`);
  }
  await admin.query(`comment on database ${name} is ${literal(installationTag(installation))}`);
  await admin.query(`revoke all on database ${name} from public`);
  await admin.query(`grant connect, create, temporary on database ${name} to ${name}`);
  await admin.query(`alter database ${name} allow_connections true`);
  // Never connect after the app has used the database: objects it left there would run with the platform's rights.
  const takeSchema = `alter schema public owner to ${name}`;
  if (isNew || role !== 'complete')
    await withClient(inDatabase(url, spec.name), (client) => client.query(takeSchema));
  await admin.query(
    `alter role ${name} set idle_in_transaction_session_timeout = ${literal(idleInTransactionMax)}`,
  );
  await admin.query(
    `alter role ${name} login connection limit ${spec.connectionsMax} password ${literal(scramVerifier(spec.password))}`,
  );
  if (spec.disconnectClients) await disconnectClients(admin, spec.name);
}

/** A role with a connection limit is complete: the last step sets it together with LOGIN. */
async function findRole(admin: Client, name: string): Promise<'none' | 'incomplete' | 'complete'> {
  const { rows } = await admin.query<{ limit: number }>(
    'select rolconnlimit as limit from pg_roles where rolname = $1',
    [name],
  );
  if (!rows[0]) return 'none';
  return rows[0].limit === -1 ? 'incomplete' : 'complete';
}

export async function databaseExists(admin: Client, name: string): Promise<boolean> {
  return (await admin.query('select from pg_database where datname = $1', [name])).rowCount !== 0;
}

/** Only members of a role can end its connections and grant to it. Since PostgreSQL 16 creating it is not enough. */
export async function joinRole(admin: Client, role: string): Promise<void> {
  const { rows } = await admin.query<{ options: string }>(
    `select case when current_setting('server_version_num')::int >= 160000 then 'with inherit true, set true' else '' end as options`,
  );
  await admin.query(`grant ${role} to current_user ${rows[0]?.options}`);
}

export async function closeDatabase(admin: Client, name: string): Promise<void> {
  await closeRole(admin, name);
  await closeRole(admin, readerName(name));
}

export async function closeRole(admin: Client, name: string): Promise<void> {
  const role = await admin.query('select from pg_roles where rolname = $1', [name]);
  if (role.rowCount === 0) return;
  await admin.query(`alter role ${ident(name)} nologin`);
  await disconnectClients(admin, name);
}

const disconnectMsMax = 10_000;

/** Repeats until no connection is left, because a login in progress appears after the first query. */
async function disconnectClients(admin: Client, role: string): Promise<void> {
  const deadline = Date.now() + disconnectMsMax;
  for (;;) {
    const { rowCount } = await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where usename = $1',
      [role],
    );
    if (rowCount === 0) return;
    if (Date.now() > deadline) throw new Error(`The connections of ${role} could not be closed.`);
    await Bun.sleep(20);
  }
}

const dropTriesMax = 20;
const dropPauseMs = 100;

export async function dropDatabase(admin: Client, name: string): Promise<void> {
  await closeDatabase(admin, name);
  for (let tries = 1; ; tries++) {
    try {
      await admin.query(`drop database if exists ${ident(name)} with (force)`);
      break;
    } catch (error) {
      // An autovacuum worker may be connected; only superusers can end it, and it finishes soon.
      if (sqlState(error) !== '42501' || tries === dropTriesMax) throw error;
      await Bun.sleep(dropPauseMs);
    }
  }
  // The rights of the roles ended with the database.
  await admin.query(`drop role if exists ${ident(readerName(name))}, ${ident(name)}`);
}

/** A system restored from a backup knows names of databases that belong to the original installation. */
export async function isForeign(admin: Client, name: string, installation: string): Promise<boolean> {
  const { rows } = await admin.query<{ tag: string | null }>(
    `select shobj_description(oid, 'pg_database') as tag from pg_database where datname = $1`,
    [name],
  );
  const tag = rows[0]?.tag ?? null;
  return tag !== null && tag !== installationTag(installation);
}

export function installationTag(installation: string): string {
  return `svc ${installation}`;
}

export interface ReaderSpec {
  name: string;
  ownerPassword: string;
  ownerConnectionsMax: number;
  password: string;
}

export const readerConnectionsMax = 5;

/** The reader owns nothing and has no roles. App code can lift `default_transaction_read_only`, but not this. */
export async function openReader(admin: Client, { url }: { url: string }, spec: ReaderSpec): Promise<void> {
  const owner = ident(spec.name);
  const reader = ident(readerName(spec.name));
  if ((await findRole(admin, readerName(spec.name))) === 'none')
    await admin.query(`create role ${reader} nologin`);
  await joinRole(admin, reader);
  await admin.query(`grant connect on database ${owner} to ${reader}`);
  // The app may use all of its connections.
  await admin.query(`alter role ${owner} connection limit ${spec.ownerConnectionsMax + 1}`);
  try {
    const { name, ownerPassword } = spec;
    const asOwner = rawUrl(url, { user: name, password: ownerPassword, database: name });
    await withClient(asOwner, (client) => client.query(grantReading(readerName(name))));
  } finally {
    await admin.query(`alter role ${owner} connection limit ${spec.ownerConnectionsMax}`);
  }
  await admin.query(
    `alter role ${reader} login connection limit ${readerConnectionsMax} password ${literal(scramVerifier(spec.password))}`,
  );
}

/** Runs as the app's own role: the platform never connects to a database that an app has used. */
const grantReading = (reader: string) => `do $grant$
declare it record;
begin
  alter default privileges grant usage on schemas to ${ident(reader)};
  alter default privileges grant select on tables to ${ident(reader)};
  alter default privileges grant select on sequences to ${ident(reader)};
  for it in select oid, nspname from pg_catalog.pg_namespace
    where nspowner = (select oid from pg_catalog.pg_roles where rolname = current_user)
      and not pg_catalog.has_schema_privilege(${literal(reader)}, oid, 'usage')
  loop
    execute pg_catalog.format('grant usage on schema %I to %I', it.nspname, ${literal(reader)});
  end loop;
  for it in select n.nspname, c.relname, c.relkind from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relowner = (select oid from pg_catalog.pg_roles where rolname = current_user)
      and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and not pg_catalog.has_table_privilege(${literal(reader)}, c.oid, 'select')
      and n.nspname !~ '^pg_'
  loop
    execute pg_catalog.format(
      'grant select on %s %I.%I to %I',
      case it.relkind when 'S' then 'sequence' else 'table' end, it.nspname, it.relname, ${literal(reader)});
  end loop;
end $grant$`;
