import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { CliError } from './errors.ts';

const waitMsMax = 45_000;
const pollMs = 25;
/** Longer than any holder keeps it: refreshing a login gives up after 30 s. */
const staleMsMin = 40_000;

/** Holds a lock file while `work` runs. One left behind by a killed process is taken over. */
export async function holdLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const mark = `${process.pid} ${hostname()} ${randomBytes(8).toString('hex')}\n`;
  const deadline = performance.now() + waitMsMax;
  while (!take(path, mark)) {
    if (signal.aborted) throw signal.reason;
    removeStale(path);
    if (performance.now() > deadline) {
      throw new CliError('config_not_writable', `Another svc process holds ${path}.`, {
        next: 'If none is running, remove that file.',
      });
    }
    await Bun.sleep(pollMs);
  }
  try {
    return await work();
  } finally {
    if (markOf(path) === mark) rmSync(path, { force: true });
  }
}

function take(path: string, mark: string): boolean {
  try {
    writeFileSync(path, mark, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw cause;
  }
}

/** Moves the file away before judging it again, so that of two who see it as stale only one removes it. */
function removeStale(path: string): void {
  if (!isStale(path)) return;
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(path, aside);
    // Between the look and the move another may have put a fresh lock there: give it back.
    if (isStale(aside)) rmSync(aside, { force: true });
    else renameSync(aside, path);
  } catch {
    // Somebody else was faster; the next round sees what is there now.
  }
}

function isStale(path: string): boolean {
  try {
    if (Date.now() - statSync(path).mtimeMs > staleMsMin) return true;
    const [pid, host] = (markOf(path) ?? '').split(' ');
    // A home folder may be shared between machines and containers: elsewhere only the age can be judged.
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

function markOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
