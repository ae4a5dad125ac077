import { spawn, spawnSync } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { bwrapBase, bwrapEnd, mountReadOnly, systemFolders } from '../runtime/process/sandbox.ts';

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

const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ca-certificates'];
const temporaryBytesMax = 256 * 1024 * 1024;
/** For what each process of git has in memory itself; packs that it maps from files are beside it. In KiB, as the shell counts. */
const memoryKbMax = 2 * 1024 * 1024;
const withLimits = ['/bin/sh', '-c', `ulimit -d ${memoryKbMax} 2>/dev/null; exec "$@"`, 'git'];
const bwrap = [
  ...bwrapBase,
  '--size',
  String(temporaryBytesMax),
  '--tmpfs',
  '/tmp',
  ...mountReadOnly(systemFolders),
];

/** Foreign packs are parsed without rights. Only with limits where the machine cannot isolate programs, which the log says. */
function enterGitSandbox(folders: readonly string[], { usesNetwork }: { usesNetwork: boolean }): string[] {
  if (findGitSandboxProblem() !== null) return withLimits;
  const own = [...new Set(folders)].filter((path) =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory(),
  );
  return [
    ...withLimits,
    ...bwrap,
    ...(usesNetwork ? mountReadOnly(networkFiles) : ['--unshare-net']),
    ...own.flatMap((path) => ['--bind', path, path]),
    ...bwrapEnd,
  ];
}

let tried: { problem: string | null } | undefined;

/** Why git runs without a sandbox. Tried once, because only that shows whether the kernel allows it. */
export function findGitSandboxProblem(): string | null {
  tried ??= { problem: trySandbox() };
  return tried.problem;
}

function trySandbox(): string | null {
  const argv = [...bwrap.slice(1), '--unshare-net', ...bwrapEnd, 'true'];
  const { status, error, stderr } = spawnSync('bwrap', argv, { encoding: 'utf8' });
  if (status === 0) return null;
  return error
    ? `bwrap cannot be run (${(error as NodeJS.ErrnoException).code}). Install bubblewrap.`
    : `This machine does not allow it: ${stderr.trim().slice(0, 300)}`;
}
