import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { type FreshDatabase, freshDatabase, temporaryFolder } from '../drivers/database/testing.ts';
import { runAdmin } from './run.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Outcome {
  exit: number | null;
  out: string;
  err: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
  json: any;
}

/** One command in this process, with `--json`. */
export async function admin(env: Environment, argv: readonly string[], stdin = ''): Promise<Outcome> {
  let [out, err] = ['', ''];
  const exit = await runAdmin([...argv, '--json'], {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    stdin: async () => stdin,
    stdinLines: async function* () {
      yield* stdin.split('\n');
    },
    config: () => readConfig(env),
    onInterrupt: () => () => {},
  });
  return { exit, out, err, json: out === '' ? null : JSON.parse(out) };
}

/** As another program's connection looks to the database. */
export function asApplication(url: string, name: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(name)}`;
}

const launcher = join(import.meta.dir, '..', '..', '..', 'svc-admin');

/**
 * `./svc-admin` as a process of its own, with nothing of our environment but where programs are. Where its standard
 * input is null, the test writes to it.
 */
export function spawnAdmin(env: Environment, argv: readonly string[], stdin: string | null = '') {
  const child = spawn(launcher, argv, { env: { PATH: process.env.PATH, ...env } });
  if (stdin !== null) child.stdin.end(stdin);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<Outcome>((resolve) => {
    child.once('close', (exit) => {
      // Several, a line each, are an open batch's.
      const isJson = /^\{.*\}\n$/.test(out);
      resolve({ exit, out, err, json: isJson ? JSON.parse(out) : null });
    });
  });
  return { child, ended };
}

/** Installations of their own for a test file: each a database without anything in it, and a new data dir. */
export function installations() {
  const folder = temporaryFolder();
  const databases: FreshDatabase[] = [];
  let count = 0;
  const installationOn = (url: string) => {
    const dataDir = join(folder.path, `data-${++count}`);
    mkdirSync(dataDir, { mode: 0o700 });
    const env = { SVC_DATABASE_URL: url, SVC_DATA_DIR: dataDir, SVC_PORT: '1' };
    const run = async (argv: readonly string[], stdin?: string) => {
      const outcome = await admin(env, argv, stdin);
      if (outcome.exit !== 0) throw new Error(`${argv.join(' ')}: ${outcome.err}`);
      return outcome.json;
    };
    const backup = async () => {
      const file = join(folder.path, `backup-${++count}.tar.gz`);
      await run(['backup', '--to', file]);
      return file;
    };
    return { url, env, dataDir, run, backup };
  };
  return {
    folder: folder.path,
    installationOn,
    installation: async () => {
      const database = await freshDatabase();
      databases.push(database);
      return installationOn(database.controlUrl);
    },
    remove: async () => {
      for (const database of databases) await database.drop();
      await folder.remove();
    },
  };
}

export const postgres15 = '/usr/lib/postgresql/15/bin';
export const hasPostgres15 = existsSync(join(postgres15, 'postgres'));

/** Debian's PostgreSQL in the folder, with an owner who may make roles; the answer is a URL of that owner's. */
export function startPostgres15(folder: string): { urlOf: (user: string, database: string) => string } {
  const id = (kind: string) => Number(spawnSync('id', [kind, 'postgres'], { encoding: 'utf8' }).stdout);
  const as = process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
  const run = (program: string, args: readonly string[]) => {
    const { status } = spawnSync(join(postgres15, program), args, { ...as, cwd: folder, stdio: 'ignore' });
    if (status !== 0) throw new Error(`${program} ended with ${status}`);
  };
  mkdirSync(folder, { recursive: true });
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'secret');
  if (as.uid !== undefined && as.gid !== undefined)
    for (const path of [folder, passwordFile]) chownSync(path, as.uid, as.gid);
  const cluster = join(folder, 'cluster');
  const login = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  run('initdb', ['-D', cluster, ...login, '--encoding=UTF8', '--locale=C', '--no-sync']);
  const settings = `-c listen_addresses='' -c unix_socket_directories='${folder}' -c fsync=off`;
  run('pg_ctl', ['-D', cluster, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']);
  const socket = encodeURIComponent(folder);
  return { urlOf: (user, database) => `postgresql://${user}:secret@localhost/${database}?host=${socket}` };
}
