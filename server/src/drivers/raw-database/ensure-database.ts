import { type Client, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { withClient } from '../database/connect.ts';
import { scramVerifier } from '../database/scram.ts';
import { isOthers, writeTag } from './database-tag.ts';
import { closeOwnDatabases, describeObstacle, findObstacle } from './obstacle.ts';
import { putOut } from './put-out.ts';
import { inDatabase } from './raw-url.ts';

export interface WantedDatabase {
  /** Of the database and of its role. */
  name: string;
  password: string;
  connectionsMax: number;
  /** `fail` for one that was there before: an empty one in its place would pass for it. */
  missing: 'make' | 'fail';
  /** Whoever is in: `put_out` where the password before must count no more. */
  connected: 'stay' | 'put_out';
}

/** A transaction left open holds locks, and keeps what it saw from being vacuumed. */
const idleInTransaction = '5min';

/**
 * Each step looks at what is there, so it may be cut off anywhere and done again. The role can not log in before
 * everything around it stands.
 */
export async function ensureDatabase(
  admin: Client,
  { url, installation }: { url: string; installation: string },
  wanted: WantedDatabase,
): Promise<void> {
  const name = ident(wanted.name);
  const role = await findRole(admin, wanted.name);
  const isNew = !(await databaseExists(admin, wanted.name));
  if (isNew && wanted.missing === 'fail') throw new Error(`The database ${wanted.name} is no longer there.`);
  if (await isOthers(admin, wanted.name, installation))
    throw new Error(`The database ${wanted.name} belongs to another installation.`);
  // What has come up elsewhere since then is no reason to keep an app out of what it has.
  if (isNew || role !== 'finished') {
    await closeOwnDatabases(admin);
    const obstacle = await findObstacle(admin);
    if (obstacle) throw new Error(describeObstacle(obstacle));
  }
  if (role === 'none') await admin.query(`create role ${name} nologin`);
  await takePartIn(admin, name);
  if (isNew) {
    // Ours and not the role's: who may connect is for nobody else to say. Closed until PUBLIC is out of it; from
    // template0, which nobody can be connected to and nobody has put anything into.
    await admin.query(`create database ${name} template template0 allow_connections false`);
  }
  await writeTag(admin, wanted.name, installation);
  await admin.query(`revoke all on database ${name} from public`);
  await admin.query(`grant connect, create, temporary on database ${name} to ${name}`);
  await admin.query(`alter database ${name} allow_connections true`);
  // Once the app has been in, we never go in again: what it left there would run with our rights.
  if (isNew || role !== 'finished') {
    await withClient(inDatabase(url, wanted.name), (client) =>
      client.query(`alter schema public owner to ${name}`),
    );
  }
  await admin.query(
    `alter role ${name} set idle_in_transaction_session_timeout = ${literal(idleInTransaction)}`,
  );
  // Attributes that default to no stay unsaid: some may be named by superusers only, even to say no.
  await admin.query(
    `alter role ${name} login connection limit ${wanted.connectionsMax} password ${literal(scramVerifier(wanted.password))}`,
  );
  if (wanted.connected === 'put_out') await putOut(admin, wanted.name);
}

/** The limit comes with the first right to log in, and stays. */
async function findRole(admin: Client, name: string): Promise<'none' | 'begun' | 'finished'> {
  const { rows } = await admin.query<{ limit: number }>(
    'select rolconnlimit as limit from pg_roles where rolname = $1',
    [name],
  );
  if (!rows[0]) return 'none';
  return rows[0].limit === -1 ? 'begun' : 'finished';
}

async function databaseExists(admin: Client, name: string): Promise<boolean> {
  return (await admin.query('select from pg_database where datname = $1', [name])).rowCount !== 0;
}

/** Only a member of the role may end its connections and give it something. Since 16, making it is not enough for that. */
async function takePartIn(admin: Client, role: string): Promise<void> {
  const { rows } = await admin.query<{ options: string }>(
    `select case when current_setting('server_version_num')::int >= 160000 then 'with inherit true, set true' else '' end as options`,
  );
  await admin.query(`grant ${role} to current_user ${rows[0]?.options}`);
}
