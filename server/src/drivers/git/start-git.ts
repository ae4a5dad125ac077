import { spawn } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { enterGitSandbox } from './git-sandbox.ts';

export interface GitCommand {
  /** The program and its arguments. */
  argv: readonly string[];
  /** All that git sees, and where it may write. */
  folders: readonly string[];
  cwd?: string;
  usesNetwork: boolean;
  env: Readonly<Record<string, string>>;
}

/** Emits `close` with the exit code, or `error`. */
export interface GitChild extends EventEmitter {
  stdin: Writable | null;
  stdout: Readable | null;
  stderr: Readable | null;
  /** Git and the processes that it has started. */
  kill(signal: NodeJS.Signals): void;
}

export function startGit({ argv, folders, cwd, usesNetwork, env }: GitCommand): GitChild {
  const [first = '', ...rest] = [...enterGitSandbox(folders, { usesNetwork }), ...argv];
  // A process group, so that the child processes of git end with it.
  const child = spawn(first, rest, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The process has already ended.
    }
    return true;
  };
  return Object.assign(child, { kill });
}
