import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
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
import { sqlState, withClient } from './connect.ts';
import { type Database, openDatabase } from './database.ts';
import { DatabaseError } from './database-error.ts';

export interface TemporaryFolder {
  path: string;
  remove(): Promise<void>;
}

/**
 * A folder that goes away together with every PostgreSQL below it: by `remove`, and also when this process dies, by
 * whatever cause, since the watcher waits for the end of a pipe that we hold open.
 */
export function temporaryFolder(mode = 0o711): TemporaryFolder {
  const path = mkdtempSync(join(quickFolder(), 'svc-test-'));
  chmodSync(path, mode);
  const pipe = join(path, 'watched');
  spawnSync('mkfifo', ['-m', '600', pipe]);
  const held = openSync(pipe, 'r+');
  // The watcher is the child of a child that ends at once: a test that times out has its own children killed.
  spawnSync('sh', ['-c', `(${watcherScript}) < "$1/watched" > /dev/null 2>&1 &`, 'sh', path]);
  return {
    path,
    remove: async () => {
      closeSync(held);
      while (existsSync(path)) await Bun.sleep(10);
    },
  };
}

// The file outlives its process, so the number in it counts only where it is PostgreSQL's. A postmaster that was
// killed may have left busy backends; what else works inside the folder is the test's as well.
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

/** Memory where there is plenty: making and removing clusters is all about the disk. Containers often have 64 MB of it. */
function quickFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4 * 1024 ** 3 ? memory : tmpdir();
}

let stopped: Promise<string> | undefined;

/** A data dir with a new cluster in it, not running. Copied from the first one, which is quicker than making each. */
export async function stoppedDataDir(path: string): Promise<string> {
  stopped ??= (async () => {
    const dataDir = join(temporaryFolder().path, 'data');
    await (await openDatabase({ dataDir, log: () => {} })).stop();
    return dataDir;
  })();
  mkdirSync(dirname(path), { recursive: true });
  const copy = spawnSync('cp', ['-a', await stopped, path], { encoding: 'utf8' });
  if (copy.status !== 0) throw new Error(`cp failed: ${copy.stderr}`);
  return path;
}

let shared: Promise<Database> | undefined;

/** One embedded PostgreSQL for the whole test run, which ends with it; or the one that SVC_DATABASE_URL names. */
export function testDatabase(): Promise<Database> {
  shared ??= (async () => {
    const databaseUrl = process.env.SVC_DATABASE_URL;
    if (databaseUrl) return openDatabase({ dataDir: temporaryFolder().path, databaseUrl, log: () => {} });
    const database = await openDatabase({ dataDir: join(temporaryFolder().path, 'data'), log: () => {} });
    // It has nothing to lose, and waiting for the disk is most of what many small tests do.
    await withClient(database.adminUrl ?? '', async (admin) => {
      await admin.query('alter system set fsync = off');
      await admin.query('select pg_reload_conf()');
    });
    return database;
  })();
  return shared;
}

export interface FreshDatabase {
  name: string;
  controlUrl: string;
  rowsUrl: string;
  adminUrl: string;
  drop(): Promise<void>;
}

let databases = 0;

/** A database of its own on the shared PostgreSQL, empty or a copy of another that nobody is connected to. */
export async function freshDatabase(options: { template?: string } = {}): Promise<FreshDatabase> {
  const server = await testDatabase();
  const adminUrl = server.adminUrl ?? server.controlUrl;
  const name = `test_${process.pid}_${++databases}`;
  const user = (url: string) => `"${decodeURIComponent(new URL(url).username)}"`;
  await withClient(adminUrl, async (admin) => {
    // Named by SVC_DATABASE_URL, it has no superuser of ours: what its user makes, its user owns.
    const owner = server.adminUrl ? `owner ${user(server.controlUrl)}` : '';
    await admin.query(`create database ${name} ${owner} template ${options.template ?? 'template1'}`);
    await admin.query(`revoke all on database ${name} from public`);
    await admin.query(`grant connect on database ${name} to ${user(server.rowsUrl)}`);
  });
  const inside = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await withClient(inside(adminUrl), (admin) => admin.query('revoke all on schema public from public'));
  return {
    name,
    controlUrl: inside(server.controlUrl),
    rowsUrl: inside(server.rowsUrl),
    adminUrl: inside(adminUrl),
    drop: () =>
      withClient(adminUrl, async (admin) => void (await admin.query(`drop database ${name} with (force)`))),
  };
}

export interface BunProcess {
  child: ChildProcess;
  pid: number;
  /** The next line the program prints; rejects with its error output when it ends instead. */
  line(): Promise<string>;
  /** One line for the program to read. */
  tell(text: string): void;
  ended: Promise<{ code: number | null; errors: string }>;
}

/** Runs a TypeScript program in a process of its own. Programs that read their input end with us. */
export function runBun(
  program: string,
  as: { uid?: number; gid?: number; detached?: boolean } = {},
): BunProcess {
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent' };
  const child = spawn(process.execPath, ['-e', program], { ...as, env, cwd: import.meta.dir });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = new Promise<{ code: number | null; errors: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, errors }));
  });
  // Read as they come: a pipe with something left in it never closes.
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  let over = false;
  ended.then(() => {
    over = true;
  });
  const line = async () => {
    while (lines.length === 0 && !over) await Bun.sleep(1);
    const next = lines.shift();
    if (next !== undefined) return next;
    throw new Error(`The program ended: ${(await ended).errors}`);
  };
  return { child, pid: child.pid ?? 0, line, tell: (text) => child.stdin.write(`${text}\n`), ended };
}

/** A server on the data dir in a process of its own, to be killed. It prints its control URL, and stops when told. */
export function runServer(
  dataDir: string,
  as: { uid?: number; gid?: number; detached?: boolean } = {},
): BunProcess {
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

/** The code an attempt fails with, ours or PostgreSQL's. */
export function codeOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'no error',
    (error) => (error instanceof DatabaseError ? error.code : (sqlState(error) ?? String(error))),
  );
}

const postgres15 = '/usr/lib/postgresql/15/bin';
export const hasPostgres15 = existsSync(join(postgres15, 'postgres'));

/** As an organisation's own server would be: Debian's PostgreSQL 15, on a socket in the folder. */
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
    const { status, error } = spawnSync(join(postgres15, program), args, {
      ...as,
      cwd: join(folder, 'cwd'),
      stdio: 'ignore',
    });
    if (status !== 0) throw error ?? new Error(`${program} ended with ${status}`);
  };
  const login = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  run('initdb', ['-D', cluster, ...login, '--encoding=UTF8', '--locale=C', '--no-sync']);
  const settings = `-c listen_addresses='' -c unix_socket_directories='${folder}' -c fsync=off`;
  run('pg_ctl', ['-D', cluster, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']);
}
