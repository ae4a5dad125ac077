import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { type FreshDatabase, freshDatabase, temporaryFolder } from '../drivers/database/testing.ts';
import { runAdmin } from './run.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Outcome {
  exit: number | null;
  out: string;
  err: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape of its answer.
  json: any;
}

export async function admin(env: Environment, argv: readonly string[], stdin = ''): Promise<Outcome> {
  const written: string[] = [];
  const errors: string[] = [];
  const exit = await runAdmin([...argv, '--json'], {
    out: (text) => void written.push(text),
    err: (text) => void errors.push(text),
    stdin: async () => stdin,
    stdinLines: async function* () {
      yield* stdin.split('\n');
    },
    config: () => readConfig(env),
    onInterrupt: () => () => {},
  });
  const out = written.join('');
  return { exit, out, err: errors.join(''), json: out === '' ? null : JSON.parse(out) };
}

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
