import { connect } from 'node:net';
import { type Listener, loopbackFamily, type Target } from './process/network.ts';
import type { LogSink } from './runtime.ts';

/** Finds the port on which an isolated app listens: PORT, or another one, to which it then forwards connections. */
export interface PortFinder {
  address(): string;
  /** Why requests do not get to the app. */
  unreachable(): string | undefined;
  close(): Promise<void>;
}

/** Carries connections from an address to a port of the app. */
export interface Forward {
  address: string;
  target: Target;
  isRunning(): boolean;
  close(): Promise<void>;
}

export interface PortLook {
  port: number;
  /** The address of PORT. */
  own: string;
  /** Null if the app cannot be looked at yet. */
  listeners(): readonly Listener[] | null;
  /** Whether requests to PORT get to the listener without help. */
  isDirect(listener: Listener): boolean;
  /** Whether no process of the app has used CPU time since the last call, or waits for some. */
  isIdle?(): boolean;
  /** Null if it cannot be opened, e.g. without IPv6. */
  open(target: Target): Promise<Forward | null>;
  log: LogSink;
  onChange(): void;
}

/** Ports are checked often at first, because apps start within seconds. */
const soonMs = 40;
const soonRounds = 250;
const laterMs = 1_000;
const afterFailureMs = 5_000;
/** An app may open another port before PORT: one that is busy, or has several. */
const stableMs = 1_000;
/** One that is idle with a single port has started. */
const idleMs = 75;
/** Node.js, Python and Java open them before the app runs. */
const debuggerPorts = [9229, 5678, 5005];
/** An app may open thousands. */
const targetsMax = 10;

export function lookForPort(options: PortLook): PortFinder {
  const { port, own, log } = options;
  let forward: Forward | null = null;
  const silent = `The app does not listen on any port. Listen on PORT (${port}) of 0.0.0.0.`;
  let unreachable: string | undefined = silent;
  let seen = { targets: '', since: 0 };
  let idleSince: number | null = null;
  let askedAt = 0;
  let rounds = 0;
  let isClosed = false;
  let timer: Timer | undefined;
  let looking = Promise.resolve();

  /** Returns the delay until the next look; null if the app listens on PORT, where nothing has to be done. */
  async function look(): Promise<number | null> {
    const listeners = options.listeners();
    if (listeners === null) return soon();
    if (listeners.some((it) => it.port === port && options.isDirect(it))) {
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
    if (forward?.isRunning() && targets.some(isSame)) return isStable() ? laterMs : soonMs;
    if (forward) await closeForward();
    return targets.length === 0 ? missing(listeners) : openFirst(targets, listeners);
  }

  function missing(listeners: readonly Listener[]): number {
    const all = listeners
      .toSorted((a, b) => a.port - b.port)
      .slice(0, targetsMax)
      .map(describe);
    unreachable =
      all.length === 0
        ? silent
        : `The app listens only on ${all.join(', ')}, where requests cannot get to it. Listen on PORT (${port}) of 0.0.0.0.`;
    return soon();
  }

  const isStable = () => performance.now() - seen.since >= stableMs;
  const soon = () => (rounds++ < soonRounds ? soonMs : laterMs);

  async function openFirst(targets: readonly Target[], listeners: readonly Listener[]): Promise<number> {
    const now = performance.now();
    const text = JSON.stringify(targets);
    if (text !== seen.targets) {
      seen = { targets: text, since: now };
      idleSince = null;
    }
    const [only] = targets;
    const mayBeEarly = targets.length === 1 && only !== undefined && !debuggerPorts.includes(only.port);
    idleSince = mayBeEarly && options.isIdle?.() ? (idleSince ?? Math.max(askedAt, seen.since)) : null;
    askedAt = now;
    const isStarted = idleSince !== null && now - idleSince >= idleMs;
    const numbers = targets.map((target) => target.port).join(', ');
    unreachable = `The app listens on port ${numbers}, not on PORT (${port}).`;
    if (!isStarted && !isStable()) return soon();
    for (const target of targets) {
      const opened = await options.open(target);
      if (opened && !isClosed && (targets.length === 1 || (await answersHttp(opened.address)))) {
        forward = opened;
        unreachable = undefined;
        log(
          'platform',
          target.port === port
            ? `The app listens on PORT (${port}), but only for connections from itself: requests go there.`
            : `The app listens on port ${target.port}, not on PORT (${port}): requests go there.`,
        );
        options.onChange();
        return isStable() ? laterMs : soonMs;
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

/** One for each port that requests can get to: PORT first, then the lowest. */
function chooseTargets(listeners: readonly Listener[], port: number): Target[] {
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

const answerMsMax = 2_000;

/** Reads five bytes: responses of apps are not for this process to parse. */
function answersHttp(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`http://${address}`);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    socket.setTimeout(answerMsMax, () => socket.destroy());
    socket.once('connect', () =>
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    );
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1').slice(0, 5);
      if (text.length >= 5) socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(text.startsWith('HTTP/')));
  });
}
