import { createHash, randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { DatabaseError } from './database-error.ts';
import { identify, type ProcessIdentity, stillRuns } from './process-identity.ts';

export interface Lock {
  release(): void;
}

/** Takes the lock, or names the living process that has it. A dead holder's lock is taken over. */
export function takeLock(path: string): Lock | { heldBy: number } {
  const own = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const text = writeIdentity(own);
  try {
    for (;;) {
      if (linked(own, path)) return { release: () => releaseLock(path, text) };
      const found = readText(path);
      if (found === null) continue;
      const holder = parseIdentity(found);
      if (holder && stillRuns(holder)) return { heldBy: holder.pid };
      const taken = takeOver({ path, stale: found, own });
      if (taken === 'yes') return { release: () => releaseLock(path, text) };
      if (taken !== 'changed') return taken;
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Several processes may judge the same lock stale, and a slow one must not throw away what a quick one has taken
 * since. So the right to replace just this lock is a lock of its own; who has it looks again, then replaces.
 */
function takeOver(lock: {
  path: string;
  stale: string;
  own: string;
}): 'yes' | 'changed' | { heldBy: number } {
  const hash = createHash('sha256').update(lock.stale).digest('hex').slice(0, 16);
  const right = takeLock(`${lock.path}.${hash}`);
  if ('heldBy' in right) return right;
  try {
    if (readText(lock.path) !== lock.stale) return 'changed';
    renameSync(lock.own, lock.path);
    return 'yes';
  } finally {
    right.release();
  }
}

export async function waitForLock(
  path: string,
  options: { waitMsMax: number; onWait: (heldBy: number) => void },
): Promise<Lock> {
  const deadline = Date.now() + options.waitMsMax;
  let told = false;
  for (;;) {
    const lock = takeLock(path);
    if ('release' in lock) return lock;
    if (Date.now() > deadline) {
      throw new DatabaseError('busy', `Process ${lock.heldBy} has held ${path} for too long.`);
    }
    if (!told) options.onWait(lock.heldBy);
    told = true;
    await Bun.sleep(50);
  }
}

/** Writes who we are into a file, so that others can tell whether its writer still runs. */
export function writeIdentity(path: string): string {
  // The nonce tells apart the locks that one process takes one after the other.
  const nonce = randomBytes(8).toString('hex');
  const text = `${JSON.stringify({ ...identify(process.pid), nonce })}\n`;
  writeFileSync(path, text, { mode: 0o600 });
  return text;
}

/** The living process that wrote the file; null when there is none. */
export function livingWriter(path: string): ProcessIdentity | null {
  const identity = parseIdentity(readText(path) ?? '');
  return identity && stillRuns(identity) ? identity : null;
}

/** A link appears with its content in one step, so that nobody ever reads a half-written lock. */
function linked(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function releaseLock(path: string, text: string): void {
  if (readText(path) === text) unlinkSync(path);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function parseIdentity(text: string): ProcessIdentity | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    if (!('pid' in value) || typeof value.pid !== 'number') return null;
    if (!('started' in value) || typeof value.started !== 'string') return null;
    return { pid: value.pid, started: value.started };
  } catch {
    return null;
  }
}
