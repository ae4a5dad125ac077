import { readlinkSync } from 'node:fs';
import type { LogSink } from '../runtime.ts';
import type { AppUser } from './app-users.ts';
import { answersHttp, type Forward, openForward } from './forward.ts';
import type { Target } from './network.ts';
import { type Listener, listListeners, loopbackFamily } from './ports.ts';
import { readProcessTable } from './process-trees.ts';
import type { Sandbox } from './sandbox.ts';

/** Finds the port on which the app in a sandbox listens: PORT, or another one, to which it then forwards connections. */
export interface PortFinder {
  address(): string;
  /** Why requests do not get to the app. */
  unreachable(): string | undefined;
  close(): Promise<void>;
}

export interface PortFinderOptions {
  sandbox: Sandbox;
  user: AppUser | null;
  mark: string;
  /** pasta, whose child enters the sandbox. */
  leader: number;
  port: number;
  /** pasta listens on them inside. */
  hostPorts: readonly number[];
  newPort(): Promise<number>;
  log: LogSink;
  onChange(): void;
  /** The process that carries connections, which must not outlive the app. */
  onForward(pid: number | null): void;
}

/** At first it looks often, because apps start within seconds. */
const soonMs = 100;
const soonRounds = 100;
const laterMs = 1_000;
const afterFailureMs = 5_000;
/** An app may open another port before PORT. */
const settleMs = 1_000;
/** An app may open thousands. */
const targetsMax = 10;

export function findPort(options: PortFinderOptions): PortFinder {
  const { sandbox, user, mark, leader, port, hostPorts, log } = options;
  const own = `127.0.0.1:${port}`;
  let inside: number | undefined;
  let forward: Forward | null = null;
  let unreachable: string | undefined = 'The app does not listen on any port.';
  let seen = { targets: '', since: 0 };
  let rounds = 0;
  let isClosed = false;
  let timer: Timer | undefined;
  let looking = Promise.resolve();

  /** Returns the delay until the next look; null if the app listens on PORT, where nothing has to be done. */
  async function look(): Promise<number | null> {
    inside ??= findInside(leader);
    if (inside === undefined) return soon();
    const listeners = listListeners(`/proc/${inside}/net`).filter((it) => !hostPorts.includes(it.port));
    if (listeners.some((it) => it.port === port && loopbackFamily(it) === 4)) {
      unreachable = undefined;
      if (forward) {
        await closeForward();
        log('platform', `The app now listens on PORT (${port}): requests go there.`);
      }
      return null;
    }
    const targets = chooseTargets(listeners, port);
    const isSame = ({ port, family }: Target) =>
      port === forward?.target.port && family === forward.target.family;
    if (forward?.isRunning() && targets.some(isSame)) return laterMs;
    if (forward) await closeForward();
    return targets.length === 0 ? missing(listeners) : openFirst(inside, targets, listeners);
  }

  function missing(listeners: readonly Listener[]): number {
    const all = listeners
      .toSorted((a, b) => a.port - b.port)
      .slice(0, targetsMax)
      .map(describe);
    unreachable =
      all.length === 0
        ? 'The app does not listen on any port.'
        : `The app listens only on ${all.join(', ')}, where requests cannot get to it. Listen on PORT (${port}) of 0.0.0.0.`;
    return soon();
  }

  const soon = () => (rounds++ < soonRounds ? soonMs : laterMs);

  async function openFirst(
    pid: number,
    targets: readonly Target[],
    listeners: readonly Listener[],
  ): Promise<number> {
    const now = performance.now();
    const text = JSON.stringify(targets);
    if (text !== seen.targets) seen = { targets: text, since: now };
    const numbers = targets.map((target) => target.port).join(', ');
    unreachable = `The app listens on port ${numbers}, not on PORT (${port}).`;
    if (now - seen.since < settleMs) return soon();
    for (const target of targets) {
      const from = await options.newPort();
      const to = { user, mark, pid, from, to: target, onProcess: options.onForward };
      const opened = isClosed ? null : await openForward(sandbox, to);
      if (opened && !isClosed && (targets.length === 1 || (await answersHttp(opened.address)))) {
        forward = opened;
        unreachable = undefined;
        log('platform', `The app listens on port ${target.port}, not on PORT (${port}): requests go there.`);
        options.onChange();
        return laterMs;
      }
      await opened?.close();
      if (isClosed) return laterMs;
    }
    if (targets.length === 1) missing(listeners);
    else unreachable = `The app listens on the ports ${numbers}, and none of them answers HTTP requests.`;
    return afterFailureMs;
  }

  async function closeForward(): Promise<void> {
    const closing = forward;
    forward = null;
    await closing?.close();
    if (!isClosed) options.onChange();
  }

  function next(): void {
    looking = look()
      .catch((error: unknown) => {
        log('platform', `The port of the app could not be found: ${String(error)}`);
        return afterFailureMs;
      })
      .then((delayMs) => {
        if (delayMs !== null && !isClosed) timer = setTimeout(next, delayMs);
      });
  }
  next();

  return {
    address: () => forward?.address ?? own,
    unreachable: () => unreachable,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await looking;
      await closeForward();
    },
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

/** One for each port that requests can get to: PORT first, then the lowest. */
export function chooseTargets(listeners: readonly Listener[], port: number): Target[] {
  const found = new Map<number, Target>();
  for (const listener of listeners) {
    const family = loopbackFamily(listener);
    if (family === 4 || (family === 6 && !found.has(listener.port)))
      found.set(listener.port, { port: listener.port, family });
  }
  return [...found.values()]
    .sort((a, b) => Number(b.port === port) - Number(a.port === port) || a.port - b.port)
    .slice(0, targetsMax);
}

function describe({ address, port }: Listener): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
