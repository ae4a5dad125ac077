import { createHash } from 'node:crypto';
import pg, { type ClientBase, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { sqlState } from '../../core/db.ts';
import { type Database, DatabaseError, withClient } from './connect.ts';
import { attachEmbedded, openEmbedded } from './embedded.ts';
import { newPassword, preparePlatformKeys, readOrCreatePlatformKey, scramVerifier } from './roles.ts';

export type { Database };

interface DatabaseOptions {
  dataDir: string;
  databaseUrl?: string;
  dataDatabaseUrl?: string;
  connectionsMax?: number;
  log: (line: string) => void;
}

export const openDatabase = (options: DatabaseOptions) => openWith(options, openEmbedded);
export const attachDatabase = (options: DatabaseOptions) => openWith(options, attachEmbedded);

async function openWith(options: DatabaseOptions, open: typeof openEmbedded): Promise<Database> {
  const { databaseUrl, dataDatabaseUrl } = options;
  if (databaseUrl) return openExternal({ ...options, url: databaseUrl });
  const database = await open(options);
  return dataDatabaseUrl ? { ...database, rowsUrl: dataDatabaseUrl } : database;
}

interface ExternalOptions {
  url: string;
  dataDatabaseUrl?: string | undefined;
  log: (line: string) => void;
  connectMsMax?: number;
}

const serverVersionMin = 150_000;
const connectMsMaxDefault = 30_000;

export async function openExternal(options: ExternalOptions): Promise<Database> {
  checkUrl(options.url);
  await waitUntilReachable(options);
  const login = await withClient(options.url, async (client) => {
    await checkVersion(client);
    return await preparePlatformKeys(client, async () =>
      options.dataDatabaseUrl ? null : await prepareRowsLogin(client, options.url),
    );
  });
  return {
    kind: 'external',
    controlUrl: options.url,
    rowsUrl: options.dataDatabaseUrl ?? (login ? withLogin(options.url, login) : options.url),
    adminUrl: null,
    stop: async () => {},
    stopNow: () => {},
    exited: new Promise(() => {}),
  };
}

interface Login {
  user: string;
  password: string;
}

export function withLogin(url: string, login: Login): string {
  // URL parsers accept no login without a host, which PostgreSQL's URLs may omit.
  const withHost = url.replace(/^(\w+:\/\/)([^/@]*@)?\//, '$1$2localhost/');
  const parsed = new URL(withHost);
  if (withHost !== url && !parsed.searchParams.has('host')) {
    parsed.searchParams.set('host', new pg.Client({ connectionString: url }).host);
  }
  parsed.searchParams.delete('user');
  parsed.searchParams.delete('password');
  parsed.username = login.user;
  parsed.password = login.password;
  return parsed.href;
}

function checkUrl(url: string): void {
  const text = 'SVC_DATABASE_URL must look like postgresql://user:password@host:5432/database.';
  if (!/^postgres(ql)?:\/\//.test(url)) throw new DatabaseError('bad_url', text);
}

async function waitUntilReachable({
  url,
  log,
  connectMsMax = connectMsMaxDefault,
}: ExternalOptions): Promise<void> {
  const deadline = Date.now() + connectMsMax;
  let isLogged = false;
  for (;;) {
    try {
      return await withClient(url, async () => {});
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      // Among errors of the server, only "starting up" and "too many connections" are temporary.
      const state = sqlState(cause);
      const isTemporary = state === null || state === '57P03' || state === '53300';
      const text = `Cannot connect to the database at ${describeUrl(url)}: ${reason}`;
      if (!isTemporary || Date.now() > deadline) throw new DatabaseError('unreachable', text, { cause });
      if (!isLogged) log(`Waiting for the database at ${describeUrl(url)}: ${reason}`);
      isLogged = true;
      await Bun.sleep(250);
    }
  }
}

function describeUrl(url: string): string {
  const { user, host, port, database } = new pg.Client({ connectionString: url });
  return `${user}@${host}:${port}/${database}`;
}

async function checkVersion(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ number: string; version: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version`,
  );
  const found = rows[0];
  if (found && Number(found.number) >= serverVersionMin) return;
  const text = `The database runs PostgreSQL ${found?.version}; version 15 or later is required.`;
  throw new DatabaseError('server_too_old', text);
}

async function prepareRowsLogin(client: ClientBase, url: string): Promise<Login> {
  const { rows } = await client.query<{ name: string; oid: string; user: string }>(
    'select datname as name, oid::text, current_user as user from pg_database where datname = current_database()',
  );
  const [database] = rows;
  if (!database) throw new DatabaseError('unreachable', 'The database does not return its own name.');
  // Roles belong to the cluster, which installations may share. The stored name survives restoring a dump,
  // which changes the oid.
  const hash = createHash('sha256').update(`${database.name}:${database.oid}`).digest('hex').slice(0, 8);
  const user = await readOrCreatePlatformKey(client, 'rows_role', () => `svc_rows_${hash}`);
  const password = await readOrCreatePlatformKey(client, 'rows_password', newPassword);
  const login = { user, password };
  if (await canLogIn(url, login)) return login;
  try {
    // Attributes that default to "no" are omitted: only superusers may name some of them, even for "no".
    const found = await client.query('select from pg_roles where rolname = $1', [user]);
    const verb = found.rowCount === 0 ? 'create' : 'alter';
    await client.query(`${verb} role ${ident(user)} login password ${literal(scramVerifier(password))}`);
    await client.query(`grant connect on database ${ident(database.name)} to ${ident(user)}`);
  } catch (cause) {
    if (sqlState(cause) !== '42501') throw cause;
    throw createRoleError(database, user, cause);
  }
  if (await canLogIn(url, login)) return login;
  throw new DatabaseError(
    'rows_login_failed',
    `The role ${user}, created for row data, cannot log in. Allow it in pg_hba.conf, or set SVC_DATA_DATABASE_URL.`,
  );
}

async function canLogIn(url: string, login: Login): Promise<boolean> {
  try {
    return await withClient(withLogin(url, login), async () => true);
  } catch (error) {
    const state = sqlState(error);
    // Wrong password or unknown role; no entry in pg_hba.conf; no CONNECT privilege on this database.
    if (state === '28P01' || state === '28000' || state === '42501') return false;
    throw error;
  }
}

function createRoleError(database: { name: string; user: string }, role: string, cause: unknown) {
  const lines = [
    `The database user ${database.user} cannot create the login for row data. Ask an administrator to run`,
    `  create role ${ident(role)} login password '<a password>';`,
    `  grant connect on database ${ident(database.name)} to ${ident(role)};`,
    'and set SVC_DATA_DATABASE_URL to a URL with that login, or to run',
    `  alter role ${ident(database.user)} createrole;`,
    'and start the server again.',
  ];
  return new DatabaseError('may_not_create_roles', lines.join('\n'), { cause });
}
