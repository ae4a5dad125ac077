import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { copyPreparedDataDir } from './prepared-data-dir.ts';

/** The product from outside: a server as a child process in a data dir of its own. No source is imported here. */
export const root = resolve(import.meta.dir, '..', '..');

export interface RunningServer {
  baseUrl: string;
  port: number;
  dataDir: string;
  env: Record<string, string>;
  pid: number;
  /** Everything it has printed so far. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  exited: Promise<number>;
  stop(): Promise<number>;
}

export interface ServerOptions {
  dataDir?: string;
  port?: number;
  env?: Record<string, string>;
  /** What it finds in a data dir of its own; `nothing` where the first start itself is the question. */
  finds?: 'prepared' | 'nothing';
  /** How it is started; `npm start` where that itself is the question. */
  command?: string[];
  readyMs?: number;
  /** It is there for the files that come as well. */
  isShared?: true;
}

/** With the test file that started it; null: it is for all of them. */
const running = new Map<RunningServer, string | null>();
const folders = new Set<string>();
const beside = new Map<RunningServer, (() => Promise<unknown>)[]>();

/** A folder that is removed when the tests end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(quickFolder(), 'svc-acceptance-'));
  // Apps run as users of their own, and go through it to where they run.
  chmodSync(folder, 0o711);
  folders.add(folder);
  return folder;
}

/** Memory where there is plenty: of a cluster that lives for seconds nothing has to reach the disk. */
function quickFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4 * 1024 ** 3 ? memory : tmpdir();
}

const ends: (() => Promise<unknown>)[] = [];

/** What is there for all files is ended behind the last of them. */
export function atEnd(end: () => Promise<unknown>): void {
  ends.push(end);
}

/** What a test keeps open beside a server is ended with it. */
export function endWith(server: RunningServer, end: () => Promise<unknown>): void {
  beside.set(server, [...(beside.get(server) ?? []), end]);
}

async function endBeside(server: RunningServer): Promise<void> {
  const ends = beside.get(server) ?? [];
  beside.delete(server);
  await Promise.all(ends.map((end) => end()));
}

/** Files run one after the other: what the one before has started would go on working beside all that follow. */
function fileThatAsks(): string | null {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = before;
  return /acceptance\/([\w.-]+\.test\.ts)/.exec(stack)?.[1] ?? null;
}

async function stopThoseOfOtherFiles(file: string): Promise<void> {
  const left = [...running].filter(([, own]) => own !== null && own !== file);
  await Promise.all(left.map(([server]) => server.stop()));
}

export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const file = options.isShared ? null : fileThatAsks();
  if (file !== null) await stopThoseOfOtherFiles(file);
  const dataDir = options.dataDir ?? join(temporaryFolder(), 'data');
  const port = options.port ?? freePort();
  const env = {
    ...process.env,
    ...(await ownDatabase(options)),
    SVC_PORT: String(port),
    SVC_DATA_DIR: dataDir,
    SVC_CHECK_ANSWERS: 'true',
    SVC_LOG_LEVEL: 'info',
    ...options.env,
  } as Record<string, string>;
  if (env.SVC_DATABASE_URL) databases.set(dataDir, env.SVC_DATABASE_URL);
  const finds =
    options.finds ?? (options.dataDir || options.command || env.SVC_DATABASE_URL ? 'nothing' : 'prepared');
  if (finds === 'prepared') await copyPreparedDataDir(dataDir);
  const child = Bun.spawn(options.command ?? [process.execPath, join(root, 'server/src/main.ts')], {
    cwd: root,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let text = '';
  const ready = Promise.withResolvers<string>();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      const found = /^svc is ready on (\S+)$/m.exec(text);
      if (found) ready.resolve(found[1]!);
    }
  };
  void collect(child.stdout);
  void collect(child.stderr);
  const exited = child.exited.then((code) => {
    ready.reject(new Error(`The server ended with ${code} before it was ready:\n${text}`));
    void endBeside(server);
    return code;
  });
  ready.promise.catch(() => {});
  const timer = setTimeout(
    () => ready.reject(new Error(`The server was not ready in time:\n${text}`)),
    options.readyMs ?? 60_000,
  );
  const server: RunningServer = {
    baseUrl: env.SVC_BASE_URL ?? `http://localhost:${port}`,
    port,
    dataDir,
    env,
    pid: child.pid,
    output: () => text,
    signal: (name) => child.kill(name),
    exited,
    stop: async () => {
      child.kill('SIGTERM');
      const code = await exited;
      await endBeside(server);
      running.delete(server);
      return code;
    },
  };
  running.set(server, file);
  await ready.promise;
  clearTimeout(timer);
  return server;
}

/** With SVC_DATABASE_URL the whole suite runs on that server; each of ours still has a database of its own there. */
async function ownDatabase(options: ServerOptions): Promise<Record<string, string>> {
  const url = process.env.SVC_DATABASE_URL;
  if (!url || options.env?.SVC_DATABASE_URL !== undefined) return {};
  const known = options.dataDir && databases.get(options.dataDir);
  if (known) return { SVC_DATABASE_URL: known };
  const name = `svc_acceptance_${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  // As an operator would for databases of apps: none of these is there for every login.
  await client.query(`revoke connect on database ${name} from public`);
  await client.end();
  const own = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  return { SVC_DATABASE_URL: own };
}

const databases = new Map<string, string>();

export function freePort(): number {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = probe.port!;
  probe.stop(true);
  return port;
}

let shared: Promise<RunningServer> | undefined;

/** One server for all tests that do not need one of their own; each has a tenant of its own on it. */
export function sharedServer(): Promise<RunningServer> {
  shared ??= startServer({ isShared: true });
  return shared;
}

/** Called once, after all tests: see `setup.ts`. */
export async function stopEverything(): Promise<void> {
  await Promise.all(ends.map((end) => end()));
  await Promise.all([...running.keys()].map((server) => server.stop()));
  // Those opened on a server that had already ended.
  await Promise.all([...beside.keys()].map(endBeside));
  await dropDatabases();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** Those of apps, which are beside it on the same server. */
async function dropRawDatabases(own: string, admin: pg.Client): Promise<void> {
  const client = new pg.Client({ connectionString: own });
  await client.connect();
  // One that never came up has no such table.
  const { rows } = await client
    .query<{ database: string }>('select database from svc.raw_databases')
    .catch(() => ({ rows: [] }));
  await client.end();
  for (const { database } of rows) {
    await admin.query(`drop database if exists ${database} with (force)`);
    await admin.query(`drop role if exists ${database}`);
  }
}

async function dropDatabases(): Promise<void> {
  const url = process.env.SVC_DATABASE_URL;
  if (!url || databases.size === 0) return;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const own of databases.values()) {
    const name = new URL(own).pathname.slice(1);
    if (!name.startsWith('svc_acceptance_')) continue;
    await dropRawDatabases(own, client);
    await client.query(`drop database if exists ${name} with (force)`);
  }
  await client.end();
}
