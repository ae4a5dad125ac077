import { createHash } from 'node:crypto';
import pg, { type ClientBase, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { sqlState, withClient } from './connect.ts';
import { DatabaseError } from './database-error.ts';
import type { Database } from './database-handle.ts';
import { keepPlatformKey, preparePlatformKeys } from './platform-keys.ts';
import { newPassword, scramVerifier } from './scram.ts';

export interface ExternalOptions {
  url: string;
  dataDatabaseUrl?: string | undefined;
  log: (line: string) => void;
  /** How long an unreachable database is waited for: it may be starting beside us. */
  connectMsMax?: number;
}

const serverVersionMin = 150_000;
const connectMsMaxDefault = 30_000;

/** A PostgreSQL of the operator's own. Its URL names the control plane's login; the one for rows is made with it. */
export async function openExternal(options: ExternalOptions): Promise<Database> {
  checkUrl(options.url);
  await untilReachable(options);
  const login = await withClient(options.url, async (client) => {
    await checkVersion(client);
    return await preparePlatformKeys(client, async () =>
      options.dataDatabaseUrl ? null : await prepareRowsLogin(client, options.url),
    );
  });
  return {
    kind: 'external',
    controlUrl: options.url,
    rowsUrl: options.dataDatabaseUrl ?? (login ? urlFor(options.url, login) : options.url),
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

/** The same database by another login. */
export function urlFor(url: string, login: Login): string {
  // URL parsers take no login without a host, which PostgreSQL's URLs may leave out.
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
  if (/^postgres(ql)?:\/\//.test(url)) return;
  throw new DatabaseError(
    'bad_url',
    'SVC_DATABASE_URL must look like postgresql://user:password@host:5432/database.',
  );
}

async function untilReachable({
  url,
  log,
  connectMsMax = connectMsMaxDefault,
}: ExternalOptions): Promise<void> {
  const deadline = Date.now() + connectMsMax;
  let told = false;
  for (;;) {
    try {
      return await withClient(url, async () => {});
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      // Of the database's own refusals only "starting up" and "too many connections" pass by themselves.
      const state = sqlState(cause);
      const passing = state === undefined || state === '57P03' || state === '53300';
      if (!passing || Date.now() > deadline) {
        throw new DatabaseError(
          'unreachable',
          `The database at ${describe(url)} does not let us in: ${reason}`,
          { cause },
        );
      }
      if (!told) log(`Waiting for the database at ${describe(url)}: ${reason}`);
      told = true;
      await Bun.sleep(250);
    }
  }
}

function describe(url: string): string {
  const { user, host, port, database } = new pg.Client({ connectionString: url });
  return `${user}@${host}:${port}/${database}`;
}

async function checkVersion(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ number: string; version: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version`,
  );
  const found = rows[0];
  if (found && Number(found.number) >= serverVersionMin) return;
  throw new DatabaseError(
    'server_too_old',
    `The database is PostgreSQL ${found?.version}; 15 is the oldest that will do.`,
  );
}

async function prepareRowsLogin(client: ClientBase, url: string): Promise<Login> {
  const { rows } = await client.query<{ name: string; oid: string; user: string }>(
    'select datname as name, oid::text, current_user as user from pg_database where datname = current_database()',
  );
  const [database] = rows;
  if (!database) throw new DatabaseError('unreachable', 'The database does not know its own name.');
  // Roles belong to the whole cluster, where several installations may live. Kept once chosen, so that rights
  // granted to it come back with a restored dump, which gives the database another oid.
  const hash = createHash('sha256').update(`${database.name}:${database.oid}`).digest('hex').slice(0, 8);
  const user = await keepPlatformKey(client, 'rows_role', () => `svc_rows_${hash}`);
  const password = await keepPlatformKey(client, 'rows_password', newPassword);
  const login = { user, password };
  if (await logsIn(url, login)) return login;
  try {
    // Attributes that default to no stay unsaid: some may be named by superusers only, even to say no.
    const verb = (await roleExists(client, user)) ? 'alter' : 'create';
    await client.query(`${verb} role ${ident(user)} login password ${literal(scramVerifier(password))}`);
    await client.query(`grant connect on database ${ident(database.name)} to ${ident(user)}`);
  } catch (cause) {
    if (sqlState(cause) !== '42501') throw cause;
    throw mayNotCreateRoles({ owner: database.user, role: user, database: database.name, cause });
  }
  if (await logsIn(url, login)) return login;
  throw new DatabaseError(
    'rows_login_failed',
    `The role ${user}, made for row data, may not log in: allow it in pg_hba.conf, or set SVC_DATA_DATABASE_URL.`,
  );
}

async function roleExists(client: ClientBase, role: string): Promise<boolean> {
  return (await client.query('select from pg_roles where rolname = $1', [role])).rowCount !== 0;
}

async function logsIn(url: string, login: Login): Promise<boolean> {
  try {
    return await withClient(urlFor(url, login), async () => true);
  } catch (error) {
    const state = sqlState(error);
    // Wrong password or no such role; no entry in pg_hba.conf; no right to connect to this database.
    if (state === '28P01' || state === '28000' || state === '42501') return false;
    throw error;
  }
}

function mayNotCreateRoles(facts: {
  owner: string;
  role: string;
  database: string;
  cause: unknown;
}): DatabaseError {
  const { owner, role, database, cause } = facts;
  return new DatabaseError(
    'may_not_create_roles',
    [
      `The database user ${owner} may not create the login for row data. Either let an administrator run`,
      `  create role ${ident(role)} login password '<a password>';`,
      `  grant connect on database ${ident(database)} to ${ident(role)};`,
      'and set SVC_DATA_DATABASE_URL to a URL with that login, or let one run',
      `  alter role ${ident(owner)} createrole;`,
      'and start again.',
    ].join('\n'),
    { cause },
  );
}
