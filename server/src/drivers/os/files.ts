import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { findProcess, isRunning, type ProcessIdentity } from './processes.ts';

export function writeDurably(path: string, text: string, owner?: { uid: number; gid: number }): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (owner) chownSync(temporary, owner.uid, owner.gid);
  renameSync(temporary, path);
  syncToDisk(dirname(path));
}

/** Null if the file cannot be read, for whatever reason. */
export function tryReadText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

export function readLines(path: string): string[] {
  return tryReadText(path)?.split('\n') ?? [];
}

/** `mode` is `constants.X_OK` or another one of `access`. */
export function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

export function syncToDisk(path: string): void {
  // Windows cannot open folders.
  if (process.platform === 'win32' && statSync(path).isDirectory()) return;
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export interface Lock {
  release(): void;
}

export function tryLock(path: string): Lock | { heldBy: number } {
  const own = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const text = writeIdentity(own);
  try {
    for (;;) {
      if (tryLink(own, path)) return { release: () => releaseLock(path, text) };
      const found = readIfExists(path);
      if (found === null) continue;
      const holder = parseIdentity(found);
      if (holder && isRunning(holder)) return { heldBy: holder.pid };
      const taken = takeOver({ path, stale: found, own });
      if (taken === 'yes') return { release: () => releaseLock(path, text) };
      if (taken !== 'changed') return taken;
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** A second lock, whose holder reads the file again, so that a slow process cannot replace a fast one's new lock. */
function takeOver(lock: {
  path: string;
  stale: string;
  own: string;
}): 'yes' | 'changed' | { heldBy: number } {
  const hash = createHash('sha256').update(lock.stale).digest('hex').slice(0, 16);
  const right = tryLock(`${lock.path}.${hash}`);
  if ('heldBy' in right) return right;
  try {
    if (readIfExists(lock.path) !== lock.stale) return 'changed';
    renameSync(lock.own, lock.path);
    return 'yes';
  } finally {
    right.release();
  }
}

export async function waitForLock(
  path: string,
  options: { waitMsMax: number; onWait: (heldBy: number) => void },
): Promise<Lock | { heldBy: number }> {
  const deadline = Date.now() + options.waitMsMax;
  let isLogged = false;
  for (;;) {
    const lock = tryLock(path);
    if ('release' in lock || Date.now() > deadline) return lock;
    if (!isLogged) options.onWait(lock.heldBy);
    isLogged = true;
    await Bun.sleep(50);
  }
}

export function writeIdentity(path: string): string {
  const nonce = randomBytes(8).toString('hex');
  const text = `${JSON.stringify({ ...findProcess(process.pid), nonce })}\n`;
  writeFileSync(path, text, { mode: 0o600 });
  return text;
}

export function findLivingWriter(path: string): ProcessIdentity | null {
  const identity = parseIdentity(readIfExists(path) ?? '');
  return identity && isRunning(identity) ? identity : null;
}

/** A hard link appears together with its content, so no process reads a half-written lock. */
function tryLink(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Of several processes that do this at once, one creates the file. */
export function createIfMissing(path: string, text: string): void {
  const temporary = `${path}.${crypto.randomUUID()}`;
  writeFileSync(temporary, text, { mode: 0o600 });
  try {
    tryLink(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function releaseLock(path: string, text: string): void {
  if (readIfExists(path) === text) unlinkSync(path);
}

export function readIfExists(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const Identity = z.object({ pid: z.number(), started: z.string() });

function parseIdentity(text: string): ProcessIdentity | null {
  try {
    return Identity.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
