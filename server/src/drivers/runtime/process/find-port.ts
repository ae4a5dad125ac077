import { readlinkSync } from 'node:fs';
import { lookForPort, type PortFinder, type PortLook } from '../look-for-port.ts';
import type { AppUser } from './app-users.ts';
import { openForward } from './forward.ts';
import { listListeners, loopbackFamily } from './ports.ts';
import { readProcessTable } from './process-trees.ts';
import type { Sandbox } from './sandbox.ts';

export interface PortFinderOptions extends Pick<PortLook, 'port' | 'log' | 'onChange'> {
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
    isDirect: (listener) => loopbackFamily(listener) === 4,
    async open(to) {
      const from = await options.newPort();
      if (inside === undefined) return null;
      return openForward(sandbox, { user, mark, pid: inside, from, to, onProcess: options.onForward });
    },
  });
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
