import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from './durable-file.ts';
import type { Endpoint } from './endpoint.ts';
import { identify } from './process-identity.ts';

/** What a running PostgreSQL says of itself in `postmaster.pid`. */
export interface PostmasterFile {
  pid: number;
  endpoint: Endpoint;
  ready: boolean;
}

export function readPostmasterFile(cluster: string): PostmasterFile | null {
  const lines = readLines(join(cluster, 'postmaster.pid'));
  const [pid, , , port, folder] = lines;
  if (!pid || !port || folder === undefined) return null;
  const endpoint: Endpoint = folder
    ? { kind: 'socket', folder, port: Number(port) }
    : { kind: 'tcp', port: Number(port) };
  return { pid: Number(pid), endpoint, ready: lines[7]?.trim() === 'ready' };
}

/** The process that runs this cluster, if one does: `postmaster.pid` outlives a crash, and its number gets reused. */
export function livingPostmaster(cluster: string): number | null {
  const pid = Number(readLines(join(cluster, 'postmaster.pid'))[0]);
  return worksIn(pid, cluster) ? pid : null;
}

/**
 * After a crash another process may have the number in `postmaster.pid`, and PostgreSQL then refuses to start. Our
 * own number, its parent's, it knows to be no postmaster. The rest of the file stays, since by the shared memory
 * named there it finds backends that outlived the crash.
 */
export function disownPostmasterFile(cluster: string, owner?: { uid: number; gid: number }): void {
  const path = join(cluster, 'postmaster.pid');
  const [pid, ...rest] = readLines(path);
  // PostgreSQL also refuses an empty one, which a crash leaves between its making and its writing.
  if (!pid) rmSync(path, { force: true });
  else writeDurably(path, [process.pid, ...rest].join('\n'), owner);
}

/** Backends whose postmaster was killed, and which PostgreSQL would wait for. */
export function orphanedBackends(cluster: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readLines(`/proc/${pid}/comm`)[0] === 'postgres' && worksIn(pid, cluster));
}

export function removeSocketFiles(path: string): void {
  rmSync(path, { force: true });
  rmSync(`${path}.lock`, { force: true });
}

/** PostgreSQL's processes make the cluster their working folder. */
function worksIn(pid: number, cluster: string): boolean {
  if (!identify(pid)) return false;
  if (process.platform === 'linux') {
    try {
      const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(cluster)];
      return theirs.ino === ours.ino && theirs.dev === ours.dev;
    } catch {
      // The working folder of another user's process can't be seen; a cluster's processes are its owner's.
      return false;
    }
  }
  if (process.platform === 'win32') return true;
  const { stdout } = spawnSync('/bin/ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.includes(`-D ${cluster}`);
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
