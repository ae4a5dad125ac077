import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { CliError } from './errors.ts';
import { holdLock } from './lock.ts';
import { type Config, type Credentials, configFile, credentialsFile, readProfiles } from './profile.ts';

const lockFile = 'svc.lock';

/** Runs `work` while no other svc process writes the files in `dir`; makes the folder when it is absent. */
export async function withLock<T>(dir: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw notWritable(dir, cause);
  }
  return holdLock(join(dir, lockFile), signal, work).catch((cause) => {
    throw isFileError(cause) ? notWritable(dir, cause) : cause;
  });
}

/** Both expect the lock to be held, so that what `change` sees is what is replaced. */
export async function changeConfig(dir: string, change: (config: Config) => void): Promise<void> {
  const config = await readProfiles<Config>(dir, configFile);
  change(config);
  replaceFile(join(dir, configFile), config, 0o644);
}

export async function changeCredentials(
  dir: string,
  change: (credentials: Credentials) => void,
): Promise<void> {
  const credentials = await readProfiles<Credentials>(dir, credentialsFile);
  change(credentials);
  replaceFile(join(dir, credentialsFile), credentials, 0o600);
}

/** A reader sees the old file or the new one, never half of it, whatever happens in between. */
export function replaceFile(path: string, data: unknown, mode: number): void {
  refuseLink(path);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const file = openSync(temporary, 'wx', mode);
    try {
      writeSync(file, `${JSON.stringify(data, null, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw notWritable(path, cause);
  }
}

function refuseLink(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined || entry.isFile()) return;
  const what = entry.isSymbolicLink() ? 'a symbolic link' : 'not a file';
  throw new CliError('config_not_writable', `${path} is ${what}; svc only writes files of its own.`, {
    next: 'Remove it, or set SVC_CONFIG_DIR to another folder.',
  });
}

function isFileError(cause: unknown): boolean {
  return cause instanceof Error && !(cause instanceof CliError) && 'syscall' in cause;
}

function notWritable(path: string, cause: unknown): CliError {
  if (cause instanceof CliError) return cause;
  const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CliError('config_not_writable', `${path} can not be written${why}.`, {
    next: 'Set SVC_CONFIG_DIR to a folder you can write, or pass a login in SVC_TOKEN.',
    cause,
  });
}
