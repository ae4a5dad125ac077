import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { type Forward, lookForPort, type PortFinder, type PortLook } from '../look-for-port.ts';
import type { AppUser } from './app-users.ts';
import { runIdVariable } from './environment.ts';
import { listListeners, loopback, loopbackFamily } from './network.ts';
import { sumUsage } from './process-deps.ts';
import { isSleeping, listTree, readProcessTable } from './process-trees.ts';
import type { ForwardOptions, Sandbox } from './sandbox.ts';

interface PortFinderOptions extends Pick<PortLook, 'port' | 'log' | 'onChange'> {
  sandbox: Sandbox;
  user: AppUser | null;
  mark: string;
  /** pasta, whose child enters the sandbox. */
  leader: number;
  /** pasta listens on them inside. */
  hostPorts: readonly number[];
  newPort(): Promise<number>;
  /** The process that carries connections, which must not outlive the app. */
  onForward(pid: number | null): void;
}

export function findPort(options: PortFinderOptions): PortFinder {
  const { sandbox, user, mark, leader, port, hostPorts } = options;
  let inside: number | undefined;
  return lookForPort({
    ...options,
    own: `127.0.0.1:${port}`,
    listeners() {
      inside ??= findInside(leader);
      if (inside === undefined) return null;
      return listListeners(`/proc/${inside}/net`).filter((it) => !hostPorts.includes(it.port));
    },
    isIdle: watchIdleness(leader),
    isDirect: (listener) => loopbackFamily(listener) === 4,
    async open(to) {
      const from = await options.newPort();
      if (inside === undefined) return null;
      return openForward(sandbox, { user, mark, pid: inside, from, to, onProcess: options.onForward });
    },
  });
}

/** By the state of all threads, because on a busy machine those that wait for the CPU use none. */
function watchIdleness(leader: number): () => boolean {
  let before: number | null = null;
  return () => {
    const tree = listTree(leader, readProcessTable());
    const { cpuMs } = sumUsage(tree);
    const isSame = before !== null && cpuMs === before;
    before = cpuMs;
    return isSame && tree.every(({ pid }) => isSleeping(pid));
  };
}

/** The child of pasta. Earlier children of the same process are not in the sandbox yet. */
function findInside(leader: number): number | undefined {
  const network = readNetwork('self');
  return readProcessTable().find(({ pid, parent }) => {
    if (parent !== leader) return false;
    const its = readNetwork(pid);
    return its !== null && its !== network;
  })?.pid;
}

/** Null for a process that has ended, or that does not run its own program yet. */
function readNetwork(pid: number | 'self'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

const openMsMax = 5_000;

/** Null if it cannot be opened, e.g. without IPv6. */
async function openForward(
  sandbox: Sandbox,
  options: ForwardOptions & { mark: string; onProcess(pid: number | null): void },
): Promise<Forward | null> {
  const { from, to, mark, onProcess } = options;
  const [program = '', ...args] = sandbox.forward(options);
  const child = spawn(program, args, {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', [runIdVariable]: mark },
    stdio: 'ignore',
  });
  let isRunning = true;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  }).then(() => {
    isRunning = false;
    onProcess(null);
  });
  onProcess(child.pid ?? null);
  const host = loopback[to.family];
  const forward: Forward = {
    address: to.family === 4 ? `${host}:${from}` : `[${host}]:${from}`,
    target: to,
    isRunning: () => isRunning,
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
  for (const until = Date.now() + openMsMax; isRunning && Date.now() < until; await Bun.sleep(10))
    if (listListeners('/proc/net', from).length > 0) return forward;
  await forward.close();
  return null;
}
