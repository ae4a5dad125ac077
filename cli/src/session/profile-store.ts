import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { type Config, type Credentials, configFile, credentialsFile, readProfiles } from './profile.ts';

const lockFile = 'svc.lock';

export async function withLock<T>(dir: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw notWritableError(dir, cause);
  }
  return withFileLock(join(dir, lockFile), signal, work).catch((cause) => {
    throw isFileError(cause) ? notWritableError(dir, cause) : cause;
  });
}

/** Caller must hold the lock of `withLock`. */
export async function changeConfig(dir: string, change: (config: Config) => void): Promise<void> {
  const config = await readProfiles<Config>(dir, configFile);
  change(config);
  writeFileAtomically(join(dir, configFile), config, 0o644);
}

export async function changeCredentials(
  dir: string,
  change: (credentials: Credentials) => void,
): Promise<void> {
  const credentials = await readProfiles<Credentials>(dir, credentialsFile);
  change(credentials);
  writeFileAtomically(join(dir, credentialsFile), credentials, 0o600);
}

export function writeFileAtomically(path: string, data: unknown, mode: number): void {
  rejectLink(path);
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
    throw notWritableError(path, cause);
  }
}

function rejectLink(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined || entry.isFile()) return;
  const what = entry.isSymbolicLink() ? 'a symbolic link' : 'not a file';
  throw new CliError('config_not_writable', `${path} is ${what}; svc writes regular files only.`, {
    next: 'Remove it, or set SVC_CONFIG_DIR to another folder.',
  });
}

function isFileError(cause: unknown): boolean {
  return cause instanceof Error && !(cause instanceof CliError) && 'syscall' in cause;
}

function notWritableError(path: string, cause: unknown): CliError {
  if (cause instanceof CliError) return cause;
  const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CliError('config_not_writable', `${path} cannot be written${why}.`, {
    next: 'Set SVC_CONFIG_DIR to a writable folder, or pass a login in SVC_TOKEN.',
    cause,
  });
}

const waitMsMax = 45_000;
const pollMs = 25;
/** Longer than any holder keeps the lock: renewing a login times out after 30 s. */
const staleMsMin = 40_000;

export async function withFileLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const mark = `${process.pid} ${hostname()} ${randomBytes(8).toString('hex')}\n`;
  const deadline = performance.now() + waitMsMax;
  while (!tryLock(path, mark)) {
    if (signal.aborted) throw signal.reason;
    removeStale(path);
    if (performance.now() > deadline) {
      throw new CliError('config_not_writable', `Another svc process has locked ${path}.`, {
        next: 'If no other svc is running, remove the file.',
      });
    }
    await Bun.sleep(pollMs);
  }
  try {
    return await work();
  } finally {
    if (readMark(path) === mark) rmSync(path, { force: true });
  }
}

function tryLock(path: string, mark: string): boolean {
  try {
    writeFileSync(path, mark, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw cause;
  }
}

/** Moves the file away before checking it again, so that only one of two processes removes it. */
function removeStale(path: string): void {
  if (!isStale(path)) return;
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(path, aside);
    // Another process may have created a new lock meanwhile: put it back.
    if (isStale(aside)) rmSync(aside, { force: true });
    else renameSync(aside, path);
  } catch {
    // Another process was faster; the caller tries again.
  }
}

function isStale(path: string): boolean {
  try {
    if (Date.now() - statSync(path).mtimeMs > staleMsMin) return true;
    const [pid, host] = (readMark(path) ?? '').split(' ');
    // A home folder may be shared between machines: process ids of other hosts are meaningless.
    return host === hostname() && !isRunning(Number(pid));
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM';
  }
}

function readMark(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

export async function setActiveTenant(ctx: Ctx, tenant: { id: string; slug: string }): Promise<void> {
  const { baseUrl, configDir, profile } = await ctx.session();
  await withLock(configDir, ctx.signal, () =>
    changeConfig(configDir, (config) => {
      config.profiles[profile] = {
        ...config.profiles[profile],
        tenant: { id: tenant.id, slug: tenant.slug, base_url: baseUrl },
      };
    }),
  );
}
