import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writeFiles } from '../../cli/testing/run-svc.ts';
import { freePort } from '../../scripts/free-port.ts';
import { patientMs } from '../../scripts/patience.ts';
import { copyFolder, prepareOnce } from '../../scripts/prepare-once.ts';
import { quickFolder, temporaryFolder as watchedFolder } from '../../server/src/drivers/database/testing.ts';
import { findProgram } from '../../server/src/supervisor/bundle.ts';
import { createDatabase, databaseUrlOf, dropDatabase, queryDatabase } from './database.ts';

/** Black-box tests: each server is a child process with its own data dir. */
export const root = resolve(import.meta.dir, '..', '..');

export interface RunningServer {
  baseUrl: string;
  /** The certificate of the authority to trust, of a server behind a proxy with TLS. */
  ca?: string;
  port: number;
  dataDir: string;
  env: Record<string, string>;
  pid: number;
  output(): string;
  signal(name: NodeJS.Signals): void;
  exited: Promise<number>;
  stop(): Promise<number>;
}

interface ServerOptions {
  dataDir?: string;
  port?: number;
  env?: Record<string, string>;
  /** The content of a new data dir; `nothing` tests the first start. */
  finds?: 'prepared' | 'nothing';
  /** Instead of the server alone, for example `npm start`. */
  command?: string[];
  readyMs?: number;
}

let ownFolder: string | undefined;
let folders = 0;

/** A folder for one test. It is removed when this process ends. */
export function temporaryFolder(): string {
  // `bun test` has no hook for the end of a process that runs several files.
  ownFolder ??= watchedFolder(join(process.env.SVC_TEST_FOLDER ?? quickFolder(), 'svc-acceptance-')).path;
  const folder = join(ownFolder, String(++folders));
  // Apps run as other users and need to traverse the folder.
  mkdirSync(folder, { mode: 0o711 });
  return folder;
}

export type Files = Readonly<Record<string, string>>;

export { writeFiles };

export function folderOf(files: Files): string {
  const folder = temporaryFolder();
  writeFiles(folder, files);
  return folder;
}

/** Servers of the current test file, without the shared one. */
const running = new Set<RunningServer>();
const endings = new Map<RunningServer, (() => Promise<unknown>)[]>();

/** Registers clean-up that runs when the server ends. */
export function endWith(server: RunningServer, end: () => Promise<unknown>): void {
  endings.set(server, [...(endings.get(server) ?? []), end]);
}

async function runEndings(server: RunningServer): Promise<void> {
  const ends = endings.get(server) ?? [];
  endings.delete(server);
  await Promise.all(ends.map((end) => end()));
}

/** After each test file: see `setup.ts`. */
export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
  await dropDatabases();
}

export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const dataDir = options.dataDir ?? join(temporaryFolder(), 'data');
  const port = options.port ?? freePort();
  const env = {
    ...process.env,
    ...(await ownDatabase(options)),
    SVC_PORT: String(port),
    SVC_DATA_DIR: dataDir,
    SVC_CHECK_ANSWERS: 'true',
    SVC_LOG_LEVEL: 'info',
    SVC_DATABASE_PATIENCE: String(patientMs(1)),
    // The tests of one process share people and an address, and some are load tests.
    SVC_RATE_LIMIT_PERSON: '1000000',
    SVC_RATE_LIMIT_TOKEN: '1000000',
    SVC_RATE_LIMIT_ADDRESS: '1000000',
    SVC_METRICS_TOKEN: metricsToken,
    SVC_CONNECTOR_NETWORKS: '127.0.0.0/8',
    // Downloaded once for all runs on this machine.
    SVC_TOOLCHAIN_DIR: toolchainDir(),
    // The tables of all apps on Citus (docs/guides/citus.md).
    ...(process.env.SVC_TEST_CITUS_URL && { SVC_DATA_DATABASE_URL: process.env.SVC_TEST_CITUS_URL }),
    ...options.env,
  } as Record<string, string>;
  if (env.SVC_DATABASE_URL) databases.set(dataDir, env.SVC_DATABASE_URL);
  const finds =
    options.finds ?? (options.dataDir || options.command || env.SVC_DATABASE_URL ? 'nothing' : 'prepared');
  if (finds === 'prepared') await copyFolder(await preparedDataDir(), dataDir);
  // Its bundle if that is current, because it loads in less than half the time (decision 117).
  const program = process.env.SVC_TEST_PROGRAM
    ? join(root, process.env.SVC_TEST_PROGRAM)
    : findProgram('main.ts');
  const child = Bun.spawn(options.command ?? [process.execPath, program], {
    cwd: root,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const pidFile = join(ownFolder ?? dataDir, `${child.pid}.pid`);
  await Bun.write(pidFile, '');
  let text = '';
  let isReady = false;
  const ready = Promise.withResolvers<void>();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      // A search in the log of many requests would copy it each time.
      if (isReady || !/^svc is ready on \S+$/m.test(text)) continue;
      isReady = true;
      ready.resolve();
    }
  };
  void collect(child.stdout);
  void collect(child.stderr);
  const exited = child.exited.then((code) => {
    ready.reject(new Error(`The server ended with ${code} before it was ready:\n${text}`));
    rmSync(pidFile, { force: true });
    running.delete(server);
    void runEndings(server);
    return code;
  });
  ready.promise.catch(() => {});
  const timer = setTimeout(
    () => ready.reject(new Error(`The server was not ready in time:\n${text}`)),
    options.readyMs ?? 200_000,
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
      await runEndings(server);
      return code;
    },
  };
  running.add(server);
  await ready.promise;
  clearTimeout(timer);
  return server;
}

/** Servers of root and of other users write into it. */
function toolchainDir(): string {
  const dir = join(tmpdir(), 'svc-test-toolchains');
  if (!existsSync(dir)) {
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, 0o1777);
  }
  return dir;
}

export const metricsToken = 'metrics-token-of-the-tests';

export async function readMetrics({ baseUrl }: Pick<RunningServer, 'baseUrl'>): Promise<string> {
  const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  if (answer.status !== 200) throw new Error(`GET /metrics: ${answer.status}`);
  return answer.text();
}

/** For apps that wait for a file of the test. */
export const withoutSandbox = { SVC_RUNTIME_ISOLATION: 'none' };

let shared: Promise<RunningServer> | undefined;

/** One server for all test files of this process that need none of their own; each test creates a tenant on it. */
export function sharedServer(): Promise<RunningServer> {
  shared ??= startShared(startServer, () => {
    shared = undefined;
  });
  return shared;
}

async function startShared(start: () => Promise<RunningServer>, onEnd: () => void): Promise<RunningServer> {
  const server = await start();
  running.delete(server);
  // `bun test` kills it with a test that times out: the next test starts another.
  void server.exited.then(onEnd);
  return server;
}

let prepared: Promise<string> | undefined;

/**
 * A data dir after a first start, without what must be unique: id, secrets and ports. It is copied, because the two RSA
 * keys and the first password take longer than the rest of a start.
 */
function preparedDataDir(): Promise<string> {
  prepared ??= prepareOnce(join(process.env.SVC_TEST_FOLDER ?? temporaryFolder(), 'prepared'), prepare);
  return prepared;
}

async function prepare(dataDir: string): Promise<void> {
  // The first start of a fresh clone also builds the console.
  const server = await startServer({ dataDir, env: { SVC_DATABASE_URL: '' }, readyMs: 200_000 });
  running.delete(server);
  await queryDatabase(server, `delete from svc.platform_keys where name <> 'seeded_admin'`);
  await queryDatabase(
    server,
    `delete from svc.key_generations where name not in ('oauth.jwks', 'git_host.app')`,
  );
  const code = await server.stop();
  if (code !== 0) throw new Error(`The server to copy from ended with ${code}: ${server.output()}`);
  for (const name of ['postgres.commands', 'postgres.log', 'raw-db.port', 'runtime', 'git-work'])
    rmSync(join(dataDir, name), { recursive: true, force: true });
}

/** By data dir. With SVC_DATABASE_URL the suite runs on that PostgreSQL; each server has a database of its own there. */
const databases = new Map<string, string>();

async function ownDatabase(options: ServerOptions): Promise<Record<string, string>> {
  const url = process.env.SVC_DATABASE_URL;
  if (!url || options.env?.SVC_DATABASE_URL !== undefined) return {};
  const known = options.dataDir && databases.get(options.dataDir);
  return { SVC_DATABASE_URL: known || (await createDatabase(url, 'svc_acceptance')) };
}

async function dropDatabases(): Promise<void> {
  const adminUrl = process.env.SVC_DATABASE_URL;
  const sharedDataDir = (await shared)?.dataDir;
  if (!adminUrl) return;
  for (const [dataDir, url] of databases) {
    if (dataDir === sharedDataDir) continue;
    databases.delete(dataDir);
    if (new URL(url).pathname.startsWith('/svc_acceptance_')) await dropDatabase(adminUrl, url);
  }
}

/** On the embedded database, also when the rest of the suite runs on another. */
export const startEmbedded = (options: ServerOptions = {}) =>
  startServer({ ...options, env: { SVC_DATABASE_URL: '', SVC_LOG_LEVEL: 'warn', ...options.env } });

let embedded: Promise<RunningServer> | undefined;

/** The shared server, or another one where that is on a database of its own. */
export function sharedEmbedded(): Promise<RunningServer> {
  if (!process.env.SVC_DATABASE_URL) return sharedServer();
  embedded ??= startShared(startEmbedded, () => {
    embedded = undefined;
  });
  return embedded;
}

/** A second server on the database of an embedded one. */
export const startBeside = (first: RunningServer, env: Record<string, string> = {}) =>
  startServer({ env: { SVC_DATABASE_URL: databaseUrlOf(first), SVC_SEED: 'none', ...env } });

/** Two servers on one database, which is all that they share. */
export async function startTwo(): Promise<[RunningServer, RunningServer]> {
  const host = await startEmbedded({ env: { SVC_SEED: 'none' } });
  const url = await createDatabase(databaseUrlOf(host), 'two');
  const start = () => startBeside(host, { SVC_DATABASE_URL: url, SVC_LOG_LEVEL: 'warn' });
  return Promise.all([start(), start()]);
}

export const postmasterOf = (server: RunningServer) =>
  Number(readFileSync(join(server.dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
