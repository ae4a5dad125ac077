import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readLines, writeDurably } from '../os/files.ts';
import { findProcess, isRunning, type ProcessIdentity } from '../os/processes.ts';
import { DatabaseError, type Endpoint } from './connect.ts';
import type { Account, Binaries } from './programs.ts';

export interface Postmaster {
  pid: number;
  runs(): boolean;
  stop(): Promise<void>;
  stopNow(): void;
  exited: Promise<void>;
}

const fastStopMsMax = 30_000;
const immediateStopMsMax = 15_000;
const watchIntervalMs = 500;

export function startPostmaster(options: {
  binaries: Binaries;
  account: Account;
  args: string[];
  logFile: number;
}): Promise<Postmaster> {
  const { program, args, options: as } = options.account.command(options.binaries.postgres, options.args);
  // Detached into its own session: Ctrl-C in the terminal reaches only the server, which then stops PostgreSQL.
  const stdio: ['ignore', number, number] = ['ignore', options.logFile, options.logFile];
  const child = spawn(program, args, { ...as, detached: true, stdio });
  child.unref();
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new DatabaseError('start_failed', `${program} could not be run: ${cause.message}`, { cause }));
    });
    child.once('spawn', () => {
      let ended = false;
      const exited = new Promise<void>((end) => child.once('exit', () => end())).then(() => {
        ended = true;
      });
      const pid = child.pid ?? 0;
      const runs = () => !ended && findProcess(pid) !== null;
      resolve(createPostmaster({ pid, runs, exited, binaries: options.binaries }));
    });
  });
}

export function adoptPostmaster(identity: ProcessIdentity, binaries: Binaries): Postmaster {
  const runs = () => isRunning(identity);
  const exited = new Promise<void>((end) => {
    const timer = setInterval(() => {
      if (runs()) return;
      clearInterval(timer);
      end();
    }, watchIntervalMs);
    timer.unref();
  });
  return createPostmaster({ pid: identity.pid, runs, exited, binaries });
}

function createPostmaster(process: {
  pid: number;
  runs: () => boolean;
  exited: Promise<void>;
  binaries: Binaries;
}): Postmaster {
  const { pid, runs, binaries } = process;
  let isStopRequested = false;
  let stopping: Promise<void> | undefined;
  const requestStop = (signal: Signal) => {
    isStopRequested = true;
    if (runs()) sendSignal(binaries, pid, signal);
  };
  const stop = async () => {
    requestStop('INT');
    if (await waitForExit(runs, fastStopMsMax)) return;
    requestStop('QUIT');
    if (await waitForExit(runs, immediateStopMsMax)) return;
    throw new DatabaseError('stop_failed', `PostgreSQL (process ${pid}) does not stop.`);
  };
  return {
    pid,
    runs,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    stopNow: () => requestStop('QUIT'),
    exited: process.exited.then(() => (isStopRequested ? never : undefined)),
  };
}

const never = new Promise<void>(() => {});

/** INT aborts open transactions and writes a checkpoint; QUIT exits at once, and the next start replays the WAL. */
type Signal = 'INT' | 'QUIT';

function sendSignal(binaries: Binaries, pid: number, signal: Signal): void {
  if (process.platform === 'win32') {
    spawnSync(binaries.pgCtl, ['kill', signal, String(pid)]);
    return;
  }
  try {
    process.kill(pid, `SIG${signal}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function waitForExit(runs: () => boolean, waitMsMax: number): Promise<boolean> {
  const deadline = Date.now() + waitMsMax;
  while (runs()) {
    if (Date.now() > deadline) return false;
    await Bun.sleep(10);
  }
  return true;
}

interface PostmasterFile {
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

/** Checks the process, because `postmaster.pid` stays after a crash, and process IDs are reused. */
export function findRunningPostmaster(cluster: string): number | null {
  const pid = Number(readLines(join(cluster, 'postmaster.pid'))[0]);
  return worksInCluster(pid, cluster) ? pid : null;
}

/** PostgreSQL ignores its parent's ID: that replaces a reused one. Other lines name the memory of surviving backends. */
export function replaceStalePid(cluster: string, owner?: { uid: number; gid: number }): void {
  const path = join(cluster, 'postmaster.pid');
  const [pid, ...rest] = readLines(path);
  // PostgreSQL also refuses an empty file, which a crash leaves between creating and writing it.
  if (!pid) rmSync(path, { force: true });
  else writeDurably(path, [process.pid, ...rest].join('\n'), owner);
}

export function findOrphanedBackends(cluster: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readLines(`/proc/${pid}/comm`)[0] === 'postgres' && worksInCluster(pid, cluster));
}

export function removeSocketFiles(path: string): void {
  rmSync(path, { force: true });
  rmSync(`${path}.lock`, { force: true });
}

function worksInCluster(pid: number, cluster: string): boolean {
  if (!findProcess(pid)) return false;
  if (process.platform === 'linux') {
    try {
      const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(cluster)];
      return theirs.ino === ours.ino && theirs.dev === ours.dev;
    } catch {
      // The working folder of another user's process is not visible; a cluster's processes belong to its owner.
      return false;
    }
  }
  if (process.platform === 'win32') return true;
  const { stdout } = spawnSync('/bin/ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.includes(`-D ${cluster}`);
}
