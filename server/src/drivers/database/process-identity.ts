import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process number together with when it began, since the number alone is soon given to another process. */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

/** The process that has this number now; null when none runs under it. */
export function identify(pid: number): ProcessIdentity | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  if (process.platform === 'linux') return identifyByProc(pid);
  if (!answersSignals(pid)) return null;
  return { pid, started: process.platform === 'darwin' ? startedByPs(pid) : '' };
}

export function stillRuns(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

function identifyByProc(pid: number): ProcessIdentity | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The command name stands in brackets and may itself hold spaces and brackets, so count from the last one.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A killed process that nobody has waited for keeps its number; in containers without an init, for ever.
  if (state === 'Z' || state === 'X') return null;
  const ticksSinceBoot = rest[18] ?? '';
  return { pid, started: `${bootId()}:${ticksSinceBoot}` };
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function startedByPs(pid: number): string {
  return spawnSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}
