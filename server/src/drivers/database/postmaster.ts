import { spawn, spawnSync } from 'node:child_process';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { DatabaseError } from './database-error.ts';
import { identify, type ProcessIdentity, stillRuns } from './process-identity.ts';

/** PostgreSQL's main process, whether we started it or found it running. */
export interface Postmaster {
  pid: number;
  runs(): boolean;
  stop(): Promise<void>;
  stopNow(): void;
  /** Resolves when it ends without being asked to. */
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
  // A session of its own: Ctrl-C in the terminal must reach us alone, and we then stop it in order.
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
      resolve(
        control({ pid, runs: () => !ended && identify(pid) !== null, exited, binaries: options.binaries }),
      );
    });
  });
}

/** A postmaster that outlived the server that started it. */
export function adoptPostmaster(identity: ProcessIdentity, binaries: Binaries): Postmaster {
  const runs = () => stillRuns(identity);
  const exited = new Promise<void>((end) => {
    const timer = setInterval(() => {
      if (runs()) return;
      clearInterval(timer);
      end();
    }, watchIntervalMs);
    timer.unref();
  });
  return control({ pid: identity.pid, runs, exited, binaries });
}

function control(process: {
  pid: number;
  runs: () => boolean;
  exited: Promise<void>;
  binaries: Binaries;
}): Postmaster {
  const { pid, runs, binaries } = process;
  let asked = false;
  let stopping: Promise<void> | undefined;
  const ask = (signal: Signal) => {
    asked = true;
    if (runs()) sendSignal(binaries, pid, signal);
  };
  const stop = async () => {
    ask('INT');
    if (await ends(runs, fastStopMsMax)) return;
    ask('QUIT');
    if (await ends(runs, immediateStopMsMax)) return;
    throw new DatabaseError('stop_failed', `PostgreSQL (process ${pid}) does not stop.`);
  };
  return {
    pid,
    runs,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    stopNow: () => ask('QUIT'),
    exited: new Promise((resolve) => {
      process.exited.then(() => {
        if (!asked) resolve();
      });
    }),
  };
}

/** INT ends open transactions and writes everything out; QUIT drops all, and the next start repairs it from the log. */
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

async function ends(runs: () => boolean, waitMsMax: number): Promise<boolean> {
  const deadline = Date.now() + waitMsMax;
  while (runs()) {
    if (Date.now() > deadline) return false;
    await Bun.sleep(10);
  }
  return true;
}
