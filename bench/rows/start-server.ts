import { join, resolve } from 'node:path';
import pg from 'pg';
import {
  physicalColumnName,
  physicalSchemaName,
  physicalTableName,
} from '../../server/src/data/tables/catalogue.ts';
import { connectionUrl, type Endpoint } from '../../server/src/drivers/database/connect.ts';
import { findRunningPostmaster, readPostmasterFile } from '../../server/src/drivers/database/postmaster.ts';
import { embeddedUrls, readCredentials } from '../../server/src/drivers/database/roles.ts';
import type { Cleanup } from './cleanup.ts';

export const root = resolve(import.meta.dir, '..', '..');

/** `--workers=2`: so many processes answer, started by the supervisor. */
export const workers = Number(process.argv.find((arg) => arg.startsWith('--workers='))?.slice(10) ?? 1);

export interface Server {
  /** With several workers, the supervisor. */
  pid: number;
  postmaster: number;
  port: number;
  folder: string;
  logPath: string;
  socketFolder: string;
  superuserPassword: string;
  rowsLogin: { user: string; password: string; database: string };
  sql<T extends pg.QueryResultRow = Record<string, string>>(text: string): Promise<T[]>;
  databaseUrl(database: string): string;
  admin(...args: string[]): Record<string, string>;
  call<T = Record<string, string>>(method: string, path: string, body?: unknown): Promise<T>;
}

/** `tree`: where the sources of the server are. */
export async function startServer(
  cleanup: Cleanup,
  extraEnv: Record<string, string> = {},
  tree = root,
): Promise<Server> {
  const folder = cleanup.temporaryFolder();
  // Under root, PostgreSQL runs as another user and must be able to traverse the folder.
  Bun.spawnSync(['chmod', '711', folder]);
  const dataDir = join(folder, 'data');
  const port = freePort();
  const { SVC_DATABASE_URL: _, SVC_DATA_DATABASE_URL: __, ...environment } = process.env;
  const env = {
    ...environment,
    SVC_PORT: String(port),
    SVC_HOST: '127.0.0.1',
    SVC_BASE_URL: `http://localhost:${port}`,
    SVC_DATA_DIR: dataDir,
    SVC_SEED: 'demo',
    SVC_WORKERS: String(workers),
    SVC_LOG_LEVEL: 'info',
    // Requests are counted, and none is refused.
    SVC_RATE_LIMIT_PERSON: '100000000',
    SVC_RATE_LIMIT_TOKEN: '100000000',
    ...extraEnv,
  };
  const log = Bun.file(join(folder, 'server.log'));
  const program = workers > 1 ? 'server/src/supervise.ts' : 'server/src/main.ts';
  const command = [process.execPath, ...profilerFlags(), join(tree, program)];
  const child = Bun.spawn(command, { cwd: tree, env, stdin: 'ignore', stdout: 'pipe', stderr: log });
  cleanup.add(() => stopPostmaster(dataDir));
  cleanup.child(child);
  await waitUntilReady(child.stdout, log);
  const admin = (...args: string[]) => {
    const run = Bun.spawnSync([join(tree, 'svc-admin'), ...args, '--json'], { env, stderr: 'inherit' });
    return JSON.parse(run.stdout.toString()) as Record<string, string>;
  };
  const { access_token } = admin('tokens', 'issue', '--user', 'admin@demo.localhost');

  const endpoint = readPostmasterFile(join(dataDir, 'postgres'))?.endpoint;
  if (endpoint?.kind !== 'socket') throw new Error('The embedded PostgreSQL has no socket.');
  const credentials = readCredentials(dataDir);
  const client = new pg.Client({ connectionString: superuserUrl(endpoint, credentials.superuser, 'svc') });
  await client.connect();
  cleanup.add(() => client.end());
  const rows = new pg.Client({ connectionString: embeddedUrls(endpoint, credentials).rowsUrl });
  return {
    pid: child.pid,
    postmaster: findRunningPostmaster(join(dataDir, 'postgres')) ?? 0,
    port,
    folder,
    logPath: join(dataDir, 'postgres.log'),
    socketFolder: endpoint.folder,
    superuserPassword: credentials.superuser,
    rowsLogin: {
      user: rows.user ?? '',
      password: credentials.rows,
      database: rows.database ?? '',
    },
    sql: async <T extends pg.QueryResultRow>(text: string) => (await client.query<T>(text)).rows,
    admin,
    databaseUrl: (database) => superuserUrl(endpoint, credentials.superuser, database),
    async call<T>(method: string, path: string, body?: unknown) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text) as T;
    },
  };
}

export interface Table {
  name: string;
  path: string;
  physical: string;
  column(name: string): string;
}

export async function createApp(server: Server, slug: string): Promise<{ slug: string; base: string }> {
  const base = '/api/v1/tenants/demo/apps';
  await server.call('POST', base, { slug, name: slug });
  return { slug, base: `${base}/${slug}` };
}

export async function createTable(
  server: Server,
  app: { slug: string; base: string },
  options: { name: string; columns: readonly string[]; index: readonly string[] },
): Promise<Table> {
  const table = await server.call<{ id: string; app_id: string }>('POST', `${app.base}/tables`, {
    name: options.name,
    columns: options.columns,
  });
  await server.call('POST', `${app.base}/tables/${options.name}/indexes`, { columns: options.index });
  const found = await server.sql<{ name: string; number: number }>(
    `select name, number from svc.app_table_columns where table_id = '${table.id}'`,
  );
  const numbers = new Map(found.map(({ name, number }) => [name, number]));
  return {
    name: options.name,
    path: `/data/demo/${app.slug}/${options.name}`,
    physical: `"${physicalSchemaName(table.app_id)}"."${physicalTableName(table.id)}"`,
    column: (name) => physicalColumnName(numbers.get(name) ?? 0),
  };
}

export async function createPat(server: Server): Promise<string> {
  const pat = await server.call<{ secret: string }>('POST', '/api/v1/tenants/demo/pats', {
    name: 'bench',
    actions: ['read', 'write'],
  });
  return pat.secret;
}

export function freePort(): number {
  const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const port = probe.port ?? 0;
  probe.stop(true);
  return port;
}

/** `SVC_BENCH_PROFILE=<folder>`: the server writes a CPU profile when it exits. */
function profilerFlags(): string[] {
  const folder = process.env.SVC_BENCH_PROFILE;
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${resolve(folder)}`] : [];
}

async function waitUntilReady(output: ReadableStream<Uint8Array>, log: Bun.BunFile): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('svc is ready on')) return;
  }
  throw new Error(`The server ended before it was ready:\n${text}\n${await log.text()}`);
}

/** A killed server leaves its PostgreSQL running. */
async function stopPostmaster(dataDir: string): Promise<void> {
  const pid = findRunningPostmaster(join(dataDir, 'postgres'));
  if (pid === null) return;
  process.kill(pid, 'SIGINT');
  while (findRunningPostmaster(join(dataDir, 'postgres')) !== null) await Bun.sleep(50);
}

function superuserUrl(endpoint: Endpoint, password: string, database: string): string {
  return connectionUrl(endpoint, { user: 'postgres', password, database });
}
