import { type Client, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { sqlState } from '../../core/db.ts';
import { withClient } from '../database/connect.ts';
import { scramVerifier } from '../database/passwords.ts';
import { inDatabase, readerName } from './raw-url.ts';
import { describeServerProblem, findServerProblem, revokePublicConnect } from './server.ts';

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
export async function findRole(admin: Client, name: string): Promise<'none' | 'incomplete' | 'complete'> {
  const { rows } = await admin.query<{ limit: number }>(
    'select rolconnlimit as limit from pg_roles where rolname = $1',
    [name],
  );
  if (!rows[0]) return 'none';
  return rows[0].limit === -1 ? 'incomplete' : 'complete';
}

async function databaseExists(admin: Client, name: string): Promise<boolean> {
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
  // Its rights ended with the database.
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
