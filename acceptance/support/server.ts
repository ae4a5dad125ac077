import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { patientMs } from '../../scripts/patience.ts';
import { createDatabase, databaseUrlOf, dropDatabase, queryDatabase } from './database.ts';
import { until } from './until.ts';

/** Black-box tests: each server is a child process with its own data dir. */
export const root = resolve(import.meta.dir, '..', '..');

export interface RunningServer {
  baseUrl: string;
  port: number;
  dataDir: string;
  env: Record<string, string>;
  pid: number;
  /** The output so far. */
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
  /** Instead of `server/src/main.ts`, for example `npm start`. */
  command?: string[];
  readyMs?: number;
}

let ownFolder: string | undefined;
let folders = 0;

/** A folder for one test. It is removed when this process ends. */
export function temporaryFolder(): string {
  ownFolder ??= watchedFolder();
  const folder = join(ownFolder, String(++folders));
  // Apps run as other users and need to traverse the folder.
  mkdirSync(folder, { mode: 0o711 });
  return folder;
}

export type Files = Readonly<Record<string, string>>;

export function writeFiles(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** A folder with these files. */
export function folderOf(files: Files): string {
  const folder = temporaryFolder();
  writeFiles(folder, files);
  return folder;
}

/**
 * `bun test` has no hook for the end of a process that runs several files. The watcher waits for the end of a pipe that
 * this process holds open, then stops the servers and every other process in the folder, and removes it.
 */
function watchedFolder(): string {
  const folder = mkdtempSync(join(process.env.SVC_TEST_FOLDER ?? memoryFolder(), 'svc-acceptance-'));
  chmodSync(folder, 0o711);
  Bun.spawnSync(['mkfifo', '-m', '600', join(folder, 'watched')]);
  openSync(join(folder, 'watched'), 'r+');
  // In its own session: `bun test` kills the children of a test that times out.
  Bun.spawnSync(['sh', '-c', `(${watcher}) < "$1/watched" > /dev/null 2>&1 &`, 'sh', folder]);
  return folder;
}

const watcher = `
  trap '' INT TERM HUP
  cat
  for file in "$1"/*.pid; do [ -e "$file" ] && kill -TERM "$(basename "$file" .pid)"; done
  is_left() { for file in "$1"/*.pid; do [ -e "$file" ] && kill -0 "$(basename "$file" .pid)" && return 0; done; return 1; }
  for _ in $(seq 300); do is_left "$1" || break; sleep 0.05; done
  for process in /proc/[0-9]*; do
    case $(readlink "$process/cwd") in "$1"/*) kill -KILL "\${process#/proc/}" ;; esac
  done
  for _ in $(seq 100); do rm -rf "$1" && [ ! -e "$1" ] && break; sleep 0.1; done
`;

/** In memory where there is enough: a short-lived cluster need not be written to disk. */
function memoryFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4 * 1024 ** 3 ? memory : tmpdir();
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
  const child = Bun.spawn(
    options.command ?? [process.execPath, join(root, process.env.SVC_TEST_PROGRAM ?? 'server/src/main.ts')],
    {
      cwd: root,
      env,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const pidFile = join(ownFolder ?? dataDir, `${child.pid}.pid`);
  await Bun.write(pidFile, '');
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

export async function readMetrics({ baseUrl }: RunningServer): Promise<string> {
  const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  if (answer.status !== 200) throw new Error(`GET /metrics: ${answer.status}`);
  return answer.text();
}

/** For apps that wait for a file of the test. */
export const withoutSandbox = { SVC_RUNTIME_ISOLATION: 'none' };

export function freePort(): number {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = probe.port!;
  probe.stop(true);
  return port;
}

let shared: Promise<RunningServer> | undefined;

/** One server for all test files of this process that need none of their own; each test creates a tenant on it. */
export function sharedServer(): Promise<RunningServer> {
  shared ??= startServer().then((server) => {
    running.delete(server);
    // `bun test` kills it with a test that times out: the next test starts another.
    void server.exited.then(() => {
      shared = undefined;
    });
    return server;
  });
  return shared;
}

let prepared: Promise<string> | undefined;

/**
 * A data dir after a first start, without what must be unique: id, secrets and ports. It is created once for all
 * processes of a run and copied, because the two RSA keys and the first password take longer than the rest of a start.
 */
function preparedDataDir(): Promise<string> {
  prepared ??= prepareOnce(join(process.env.SVC_TEST_FOLDER ?? temporaryFolder(), 'prepared'));
  return prepared;
}

/** The first process creates the data dir under a lock; after a failure the next one tries again. */
async function prepareOnce(dataDir: string): Promise<string> {
  const lock = `${dataDir}.lock`;
  try {
    mkdirSync(lock);
  } catch {
    const isOver = async () => existsSync(dataDir) || !existsSync(lock);
    await until('another process has prepared the data dir', isOver, 220_000);
    return existsSync(dataDir) ? dataDir : prepareOnce(dataDir);
  }
  try {
    // The first start of a fresh clone also builds the console.
    const env = { SVC_DATABASE_URL: '' };
    const server = await startServer({ dataDir: `${dataDir}.new`, env, readyMs: 200_000 });
    running.delete(server);
    await queryDatabase(server, `delete from svc.platform_keys where name <> 'seeded_admin'`);
    await queryDatabase(
      server,
      `delete from svc.key_generations where name not in ('oauth.jwks', 'git_host.app')`,
    );
    const code = await server.stop();
    if (code !== 0) throw new Error(`The server to copy from ended with ${code}: ${server.output()}`);
    for (const name of ['postgres.commands', 'postgres.log', 'raw-db.port', 'runtime', 'git-work'])
      rmSync(join(server.dataDir, name), { recursive: true, force: true });
    renameSync(server.dataDir, dataDir);
    return dataDir;
  } catch (error) {
    rmSync(`${dataDir}.new`, { recursive: true, force: true });
    rmSync(lock, { recursive: true });
    throw error;
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  const child = Bun.spawn(['cp', '-a', '--reflink=auto', from, to], { stdin: 'ignore', stderr: 'pipe' });
  const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`cp of ${from} ended with ${code}: ${errors}`);
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
  embedded ??= startEmbedded().then((server) => {
    running.delete(server);
    void server.exited.then(() => {
      embedded = undefined;
    });
    return server;
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
