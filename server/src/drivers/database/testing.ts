import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { copyFolder, copyPrepared, prepareOnce } from '../../../../scripts/prepare-once.ts';
import { sqlState } from '../../core/db.ts';
import { DatabaseError, withClient } from './connect.ts';
import { type Database, openDatabase } from './database.ts';

export type TemporaryFolder = ReturnType<typeof temporaryFolder>;

/** A watcher process removes the folder, the servers that it names and every PostgreSQL below it when this process dies. */
export function temporaryFolder(prefix = join(quickFolder(), 'svc-test-')) {
  const path = mkdtempSync(prefix);
  // Apps run as other users and need to traverse the folder.
  chmodSync(path, 0o711);
  const pipe = join(path, 'watched');
  spawnSync('mkfifo', ['-m', '600', pipe]);
  const held = openSync(pipe, 'r+');
  // The watcher's parent exits at once, because bun kills the children of a test that times out.
  spawnSync('sh', ['-c', `(${watcherScript}) < "$1/watched" > /dev/null 2>&1 &`, 'sh', path]);
  return {
    path,
    remove: async (): Promise<void> => {
      closeSync(held);
      while (existsSync(path)) await Bun.sleep(10);
    },
  };
}

/** Servers, each with a file `<process>.pid`, end first; then whatever is left. */
const watcherScript = `
  trap '' INT TERM HUP
  cat
  for file in "$1"/*.pid; do [ -e "$file" ] && kill -TERM "$(basename "$file" .pid)"; done
  is_left() { for file in "$1"/*.pid; do [ -e "$file" ] && kill -0 "$(basename "$file" .pid)" && return 0; done; return 1; }
  for _ in $(seq 300); do is_left "$1" || break; sleep 0.05; done
  find "$1" -name postmaster.pid | while read -r file; do
    pid=$(head -n 1 "$file")
    is_postgres() { case $(ps -o stat=,comm= -p "$pid") in Z*) false ;; *postgres*) true ;; *) false ;; esac }
    is_postgres && kill -QUIT "$pid"
    while is_postgres; do sleep 0.02; done
  done
  for process in /proc/[0-9]*; do
    case $(readlink "$process/cwd") in "$1"/*) kill -KILL "\${process#/proc/}" ;; esac
  done
  for _ in $(seq 100); do rm -rf "$1" && [ ! -e "$1" ] && break; sleep 0.1; done
`;

/** /dev/shm where it is large enough, because creating clusters is disk-bound. Containers often have only 64 MB of it. */
export function quickFolder(): string {
  const memory = existsSync('/dev/shm') ? statfsSync('/dev/shm') : { bavail: 0, bsize: 0 };
  return memory.bavail * memory.bsize > 4 * 1024 ** 3 ? '/dev/shm' : tmpdir();
}

let stopped: Promise<string> | undefined;

/** Of a database that was started once, because creating a cluster takes seconds. */
export async function copyStoppedDataDir(path: string): Promise<string> {
  stopped ??= prepareOnce(
    join(process.env.SVC_TEST_FOLDER ?? temporaryFolder().path, 'cluster'),
    async (dataDir) => (await openDatabase({ dataDir, log: () => {} })).stop(),
  );
  mkdirSync(dirname(path), { recursive: true });
  await copyFolder(await stopped, path);
  return path;
}

let shared: Promise<Database> | undefined;

export function testDatabase(): Promise<Database> {
  shared ??= openSharedDatabase();
  return shared;
}

async function openSharedDatabase(): Promise<Database> {
  const dataDir = join(temporaryFolder().path, 'data');
  const databaseUrl = process.env.SVC_DATABASE_URL;
  if (!databaseUrl && process.env.SVC_TEST_FOLDER) await copyStoppedDataDir(dataDir);
  const database = await openDatabase({ dataDir, databaseUrl, log: () => {} });
  if (database.adminUrl) {
    await query(database.adminUrl, 'alter system set fsync = off');
    await query(database.adminUrl, 'select pg_reload_conf()');
  }
  return database;
}

export type FreshDatabase = Awaited<ReturnType<typeof freshDatabase>>;

let databases = 0;

export async function freshDatabase({ template = 'template1' } = {}) {
  const server = await testDatabase();
  const adminUrl = server.adminUrl ?? server.controlUrl;
  const name = `test_${process.pid}_${++databases}`;
  const user = (url: string) => `"${decodeURIComponent(new URL(url).username)}"`;
  await withClient(adminUrl, async (admin) => {
    // At SVC_DATABASE_URL there is no superuser login: the user owns the databases it creates.
    const owner = server.adminUrl ? `owner ${user(server.controlUrl)}` : '';
    await admin.query(`create database ${name} ${owner} template ${template}`);
    await admin.query(`revoke all on database ${name} from public`);
    await admin.query(`grant connect on database ${name} to ${user(server.rowsUrl)}`);
  });
  const inside = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await query(inside(adminUrl), 'revoke all on schema public from public');
  return {
    name,
    controlUrl: inside(server.controlUrl),
    rowsUrl: inside(server.rowsUrl),
    adminUrl: inside(adminUrl),
    drop: async () => void (await query(adminUrl, `drop database ${name} with (force)`)),
  };
}

interface RunAs {
  uid?: number;
  gid?: number;
  detached?: boolean;
}

export function runBun(program: string, as: RunAs = {}) {
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent' };
  const child = spawn(process.execPath, ['-e', program], { ...as, env, cwd: import.meta.dir });
  const errors = text(child.stderr);
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const ended = closed.then(async (code) => ({ code, errors: await errors }));
  // Iterated from the start: a pipe with unread data never closes.
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const next = await lines.next();
    if (!next.done) return next.value;
    throw new Error(`The program ended: ${(await ended).errors}`);
  };
  return {
    child,
    pid: child.pid ?? 0,
    line,
    send: (input: string) => child.stdin.write(`${input}\n`),
    ended,
  };
}

export function runServer(dataDir: string, as: RunAs = {}) {
  return runBun(
    `import { openDatabase } from './database.ts';
     const database = await openDatabase({ dataDir: ${JSON.stringify(dataDir)}, log: () => {} });
     console.log(database.controlUrl);
     for await (const _ of Bun.stdin.stream()) break;
     await database.stop();`,
    as,
  );
}

export async function query(url: string, sql: string) {
  return (await withClient(url, (client) => client.query(sql))).rows;
}

export function errorCode(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'no error',
    (error) => (error instanceof DatabaseError ? error.code : (sqlState(error) ?? String(error))),
  );
}

const postgres15 = '/usr/lib/postgresql/15/bin';
export const hasPostgres15 = existsSync(join(postgres15, 'postgres'));

/** Debian's PostgreSQL 15, as an organisation's own database would be: a cluster in a folder of the test's own. */
export async function startPostgres15(
  folder: string,
  { password = 'secret', port = 0, settings = [] as string[] } = {},
) {
  const [log, passwordFile] = [join(folder, 'log'), join(folder, 'password')];
  const isRoot = process.getuid?.() === 0;
  /** PostgreSQL does not run as root. */
  const takeOver = (path: string) => isRoot && spawnSync('chown', ['-R', 'postgres:postgres', path]);
  const start = (line: string) => {
    const asUser = isRoot ? 'setpriv --reuid=postgres --regid=postgres --clear-groups'.split(' ') : [];
    const command = [...asUser, ...`${postgres15}/${line}`.split(' ')];
    return Bun.spawn(command, { cwd: '/', stdin: 'ignore', stdout: 'ignore', stderr: Bun.file(log) });
  };
  const cluster = join(folder, 'cluster');
  await copyPrepared(cluster, 'postgres15', async (data) => {
    writeFileSync(passwordFile, 'secret');
    mkdirSync(data);
    for (const path of [data, passwordFile]) takeOver(path);
    const login = `-U postgres -A scram-sha-256 --pwfile=${passwordFile}`;
    const code = await start(`initdb -D ${data} ${login} --encoding=UTF8 -N`).exited;
    if (code !== 0) throw new Error(`initdb failed: ${readFileSync(log, 'utf8')}`);
  });
  takeOver(folder);
  const listen = port ? `-p ${port} -c listen_addresses=127.0.0.1` : '-c listen_addresses=';
  const more = ['fsync=off', `unix_socket_directories=${folder}`, ...settings].map((it) => ` -c ${it}`);
  const pidFile = join(cluster, 'postmaster.pid');
  const startServer = async () => {
    const server = start(`postgres -D ${cluster} ${listen}${more.join('')}`);
    while (!existsSync(pidFile) || !readFileSync(pidFile, 'utf8').includes('ready')) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL 15 ended: ${readFileSync(log, 'utf8')}`);
      await Bun.sleep(10);
    }
    return server;
  };
  let server = await startServer();
  const socket = `host=${encodeURIComponent(folder)}&port=${port || 5432}`;
  if (password !== 'secret')
    await query(
      `postgresql://postgres:secret@localhost/postgres?${socket}`,
      `alter role postgres password '${password}'`,
    );
  return {
    stop: async () => {
      server.kill('SIGINT');
      await server.exited;
    },
    /** After `stop`. */
    start: async () => {
      server = await startServer();
    },
  };
}
