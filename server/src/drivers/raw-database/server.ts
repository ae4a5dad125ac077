import { existsSync } from 'node:fs';
import pg, { type ClientBase, escapeIdentifier as ident } from 'pg';
import { clusterFolder } from '../database/cluster.ts';
import type { Database } from '../database/connect.ts';
import { withLogin } from '../database/database.ts';
import { openEmbedded } from '../database/embedded.ts';

export interface RawServer {
  kind: 'embedded' | 'external';
  exists(): boolean;
  url(): Promise<string>;
  stop(): Promise<void>;
  stopNow(): void;
}

export function externalServer(url: string): RawServer {
  return {
    kind: 'external',
    exists: () => true,
    url: async () => url,
    stop: async () => {},
    stopNow: () => {},
  };
}

const restartDelayMs = 10_000;

/** Databases of one server share locks, memory, the notification queue and transaction IDs, hence its own server. */
export function embeddedServer({
  dataDir,
  log,
  warn,
}: {
  dataDir: string;
  log: (line: string) => void;
  warn: (line: string) => void;
}): RawServer {
  let running: Promise<Database> | undefined;
  let database: Database | undefined;
  let stopping: Promise<void> | undefined;
  const start = (): Promise<Database> => {
    const opening = openEmbedded({ dataDir, use: 'app_databases', log });
    const forget = () => {
      if (running === opening) running = database = undefined;
    };
    const watch = async () => {
      database = await opening;
      await database.exited;
      warn('PostgreSQL keeps failing; the next request starts it again.');
      await database.stop();
    };
    watch().then(forget, (error: unknown) => {
      warn(error instanceof Error ? error.message : String(error));
      setTimeout(forget, restartDelayMs).unref();
    });
    return opening;
  };
  return {
    kind: 'embedded',
    exists: () => existsSync(clusterFolder(dataDir)),
    url: async () => {
      if (stopping) throw new Error('The app database server is stopping.');
      running ??= start();
      return (await running).controlUrl;
    },
    stop: () => {
      stopping ??= (async () => (await running?.catch(() => undefined))?.stop())();
      return stopping;
    },
    stopNow: () => database?.stopNow(),
  };
}

export type ServerProblem =
  | { kind: 'may_not_create'; login: string }
  | { kind: 'open_to_all'; databases: string[] };

interface OpenDatabase {
  name: string;
  closable: boolean;
}

/** PostgreSQL lets every role connect to every database: CONNECT must be revoked from PUBLIC on all others. */
export async function findServerProblem(admin: ClientBase): Promise<ServerProblem | null> {
  const { rows } = await admin.query<{ login: string; may: boolean }>(
    `select rolname as login, rolsuper or (rolcreaterole and rolcreatedb) as may
     from pg_roles where rolname = current_user`,
  );
  const [role] = rows;
  if (!role?.may) return { kind: 'may_not_create', login: role?.login ?? '' };
  const open = (await listOpenDatabases(admin)).filter(({ closable }) => !closable);
  return open.length === 0 ? null : { kind: 'open_to_all', databases: open.map(({ name }) => name) };
}

export async function revokePublicConnect(admin: ClientBase): Promise<void> {
  for (const { name, closable } of await listOpenDatabases(admin)) {
    if (closable) await admin.query(`revoke connect on database ${ident(name)} from public`);
  }
}

/** For the operator only: app owners must not learn the names of other databases. */
export function describeServerProblem(problem: ServerProblem): string {
  if (problem.kind === 'may_not_create') {
    return `App databases need a login that can create them. Ask an administrator to run: alter role ${ident(problem.login)} createrole createdb; or set SVC_RAW_DATABASE_URL.`;
  }
  const names = problem.databases.map((name) => ident(name)).join(', ');
  return `App databases need a server whose other databases are closed to them. Ask an administrator to run: revoke connect on database ${names} from public; or set SVC_RAW_DATABASE_URL.`;
}

async function listOpenDatabases(admin: ClientBase): Promise<OpenDatabase[]> {
  const { rows } = await admin.query<OpenDatabase>(
    `select datname as name,
       (datname in (current_database(), 'postgres', 'template1') or datname ~ '^svc_raw_')
         and pg_has_role(current_user, datdba, 'usage') as closable
     from pg_database
     where datallowconn and has_database_privilege('public', oid, 'connect') order by datname`,
  );
  return rows;
}

export function rawUrl(
  address: string,
  { user, password, database }: { user: string; password: string; database: string },
): string {
  const url = new URL(withLogin(address, { user, password }));
  url.pathname = `/${database}`;
  return url.href;
}

export function inDatabase(url: string, database: string): string {
  const { user, password } = new pg.Client({ connectionString: url });
  return rawUrl(url, { user: user ?? '', password: password ?? '', database });
}

/** The only parameters of a connection string that apps may see: others contain keys, options and passwords. */
const publicParameters = ['host', 'port', 'sslmode'];

export function publicAddress(url: string): string {
  const address = new URL(rawUrl(url, { user: '', password: '', database: '' }));
  for (const name of [...address.searchParams.keys()])
    if (!publicParameters.includes(name)) address.searchParams.delete(name);
  address.hash = '';
  return address.href;
}

export function hostAndPort(address: string): { host: string; port: number } {
  const { host, port } = new pg.Client({ connectionString: address });
  return { host, port };
}

export function rawName(id: string): string {
  return `svc_raw_${id.replaceAll('-', '')}`;
}

export function readerName(database: string): string {
  return `${database}_review`;
}

export function isRawName(text: string): boolean {
  return /^svc_raw_[0-9a-f]{32}$/.test(text);
}
