import {
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { DatabaseError } from './database-error.ts';
import { syncFolder, writeDurably } from './durable-file.ts';
import type { ClusterUse } from './embedded-place.ts';
import { runProgram } from './run-program.ts';
import { hostAccessFile, settingsFile } from './settings.ts';

export const superuser = 'postgres';
const workshopPrefix = 'postgres.new-';

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/** Whether there is a cluster that these binaries can run. One they can't is never touched. */
export function clusterExists(dataDir: string, major: string): boolean {
  const cluster = clusterFolder(dataDir);
  const found = readVersion(cluster);
  if (found === major) return true;
  if (found !== null) {
    throw new DatabaseError(
      'wrong_major_version',
      `${cluster} was made by PostgreSQL ${found}, and this release brings PostgreSQL ${major}. ` +
        `Go back to the release that made it, take a backup, and restore that into a new data dir.`,
    );
  }
  if (entries(cluster).length > 0) {
    throw new DatabaseError('not_a_cluster', `${cluster} is not a PostgreSQL cluster: move it away.`);
  }
  return false;
}

/** Made in a folder beside it and then renamed: a crash in between leaves no half cluster. */
export async function makeCluster(options: {
  dataDir: string;
  binaries: Binaries;
  account: Account;
  superuserPassword: string;
}): Promise<void> {
  const { dataDir, account } = options;
  removeWorkshops(dataDir);
  const workshop = mkdtempSync(join(dataDir, workshopPrefix));
  const passwordFile = join(workshop, 'password');
  writeFileSync(passwordFile, options.superuserPassword, { mode: 0o600 });
  if (account.foreign) for (const path of [workshop, passwordFile]) chownSync(path, account.uid, account.gid);
  await initialise(options, join(workshop, 'cluster'), passwordFile);
  const cluster = clusterFolder(dataDir);
  if (entries(cluster).length === 0) rmSync(cluster, { recursive: true, force: true });
  renameSync(join(workshop, 'cluster'), cluster);
  syncFolder(dataDir);
  rmSync(passwordFile);
  rmdirSync(workshop);
}

export function writeSettings(
  { dataDir, use }: { dataDir: string; use: ClusterUse },
  account: Account,
): void {
  const cluster = clusterFolder(dataDir);
  const owner = account.foreign ? account : undefined;
  writeDurably(join(cluster, 'postgresql.conf'), settingsFile(use), owner);
  writeDurably(join(cluster, 'pg_hba.conf'), hostAccessFile(), owner);
}

async function initialise(
  options: { binaries: Binaries; account: Account },
  folder: string,
  passwordFile: string,
): Promise<void> {
  // C.UTF-8 of PostgreSQL itself sorts alike on every system, so that no upgrade of the system breaks an index.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const login = [`--username=${superuser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const reasons: string[] = [];
  // What a letter is, though, trigrams still ask the system, and `C` knows of no letters beyond ASCII.
  for (const letters of [...letterKinds.map((kind) => [`--lc-ctype=${kind}`]), []]) {
    const {
      program,
      args,
      options: as,
    } = options.account.command(options.binaries.initdb, [
      `--pgdata=${folder}`,
      ...locale,
      ...letters,
      ...login,
      '--data-checksums',
    ]);
    const { status, said } = await runProgram(program, args, as);
    if (status === 0) return;
    reasons.push(said);
    if (!/locale/i.test(reasons.at(-1) ?? '')) break;
  }
  throw new DatabaseError('init_failed', `PostgreSQL could not be set up in ${folder}: ${reasons.at(-1)}`);
}

/** The first that the system has; macOS has no C.UTF-8. */
const letterKinds = ['C.UTF-8', 'en_US.UTF-8'];

/** Best effort: the initdb of a killed server may still be writing into its one. */
function removeWorkshops(dataDir: string): void {
  for (const name of entries(dataDir)) {
    if (!name.startsWith(workshopPrefix)) continue;
    try {
      rmSync(join(dataDir, name), { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    }
  }
}

function readVersion(cluster: string): string | null {
  try {
    return readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
