import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { sqlState } from '../../core/db.ts';
import { DatabaseError, withClient } from './connect.ts';
import { type Database, openDatabase } from './database.ts';

export type TemporaryFolder = ReturnType<typeof temporaryFolder>;

/** A watcher process removes the folder and every PostgreSQL below it when this process dies for any reason. */
export function temporaryFolder(mode = 0o711) {
  const path = mkdtempSync(join(quickFolder(), 'svc-test-'));
  chmodSync(path, mode);
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

const watcherScript = `
  trap '' INT TERM HUP
  cat
  find "$1" -name postmaster.pid | while read -r file; do
    pid=$(head -n 1 "$file")
    is_postgres() { case $(ps -o stat=,comm= -p "$pid") in Z*) false ;; *postgres*) true ;; *) false ;; esac }
    is_postgres && kill -QUIT "$pid"
    while is_postgres; do sleep 0.02; done
  done
  for process in /proc/[0-9]*; do
    case $(readlink "$process/cwd") in "$1"/*) kill -KILL "\${process#/proc/}" ;; esac
  done
  rm -rf "$1"
`;

/** /dev/shm where it is large enough, because creating clusters is disk-bound. Containers often have only 64 MB of it. */
function quickFolder(): string {
  const memory = existsSync('/dev/shm') ? statfsSync('/dev/shm') : { bavail: 0, bsize: 0 };
  return memory.bavail * memory.bsize > 4 * 1024 ** 3 ? '/dev/shm' : tmpdir();
}

let stopped: Promise<string> | undefined;

async function createStoppedDataDir(): Promise<string> {
  const dataDir = join(temporaryFolder().path, 'data');
  await (await openDatabase({ dataDir, log: () => {} })).stop();
  return dataDir;
}

export async function copyStoppedDataDir(path: string): Promise<string> {
  stopped ??= createStoppedDataDir();
  mkdirSync(dirname(path), { recursive: true });
  const copy = spawnSync('cp', ['-a', await stopped, path], { encoding: 'utf8' });
  if (copy.status !== 0) throw new Error(`cp failed: ${copy.stderr}`);
  return path;
}

let shared: Promise<Database> | undefined;

export function testDatabase(): Promise<Database> {
  shared ??= openSharedDatabase();
  return shared;
}

async function openSharedDatabase(): Promise<Database> {
  const dataDir = join(temporaryFolder().path, 'data');
  const database = await openDatabase({ dataDir, databaseUrl: process.env.SVC_DATABASE_URL, log: () => {} });
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

export async function startPostgres15(folder: string, password: string): Promise<void> {
  const asRoot = process.getuid?.() === 0;
  const id = (kind: string) => Number(spawnSync('id', [kind, 'postgres'], { encoding: 'utf8' }).stdout);
  const as = asRoot ? { uid: id('-u'), gid: id('-g') } : {};
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password);
  if (as.uid && as.gid) for (const path of [folder, passwordFile]) chownSync(path, as.uid, as.gid);
  const cluster = join(folder, 'cluster');
  mkdirSync(join(folder, 'cwd'));
  const run = (program: string, args: string[]) => {
    const options = { ...as, cwd: join(folder, 'cwd'), stdio: 'ignore' } as const;
    const { status, error } = spawnSync(join(postgres15, program), args, options);
    if (status !== 0) throw error ?? new Error(`${program} ended with ${status}`);
  };
  const login = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  run('initdb', ['-D', cluster, ...login, '--encoding=UTF8', '--locale=C', '--no-sync']);
  const settings = `-c listen_addresses='' -c unix_socket_directories='${folder}' -c fsync=off`;
  run('pg_ctl', ['-D', cluster, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']);
}
