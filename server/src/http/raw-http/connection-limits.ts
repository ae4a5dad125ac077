import type { Logger } from 'pino';
import type { TrustedProxies } from '../client-address.ts';
import type { WriteBuffer } from './output-queue.ts';
import type { PassThroughClients } from './pass-through.ts';
import type { Routes } from './raw-request.ts';
import type { Clock } from './response-heads.ts';
import type { ResponseDeps } from './send-response.ts';

export interface ListenerState extends ResponseDeps, Routes {
  writeBuffer: WriteBuffer;
  /** Null: what is not answered here is refused. */
  passThroughClients: PassThroughClients | null;
  pendingResponses: number;
  pendingResponsesMax: number;
}

/** How long a connection may take, in seconds. */
export const secondsMax = {
  head: 10,
  keepAlive: 72,
  response: 45,
  /** For a client to close after the half-close; what it sends meanwhile is dropped. */
  halfClose: 2,
  /** An idle connection to the general server is closed, well before that server does. */
  passThroughIdle: 5,
};

export interface TrackedConnection {
  readonly idleSince: number | null;
  terminate(): void;
}

export interface ConnectionLimits {
  connectionsMax: number;
  /** Not applied to trusted proxies, which stand for many clients. */
  perAddressMax: number;
}

export const defaultConnectionLimits: ConnectionLimits = { connectionsMax: 10_000, perAddressMax: 1_000 };

/** One in this many connections is evicted at once, because finding the idle ones scans all. */
const evictedShare = 100;
const logSecondsMin = 60;

interface NetworkCount {
  name: string;
  count: number;
  fullAt: number;
}

interface ConnectionRegistry<C extends TrackedConnection> extends Iterable<C> {
  add(connection: C, address: string): boolean;
  remove(connection: C): void;
}

export function createConnectionRegistry<C extends TrackedConnection>({
  limits,
  clock,
  trustedProxies,
  log,
}: {
  limits: ConnectionLimits;
  clock: Pick<Clock, 'second'>;
  trustedProxies: TrustedProxies;
  log: Logger;
}): ConnectionRegistry<C> {
  const networks = new Map<C, NetworkCount>();
  const byNetwork = new Map<string, NetworkCount>();
  const all: NetworkCount = { name: '', count: 0, fullAt: -1 };
  let loggedAt = -logSecondsMin;

  function remove(connection: C): void {
    const network = networks.get(connection);
    if (!networks.delete(connection) || !network) return;
    all.count--;
    if (--network.count === 0) byNetwork.delete(network.name);
  }

  function hasRoom(network: NetworkCount, max: number, address: string): boolean {
    if (network.count < max) return true;
    if (network.fullAt === clock.second) return false;
    const idle = [...networks].flatMap(([connection, own]) => {
      const since = network === all || own === network ? connection.idleSince : null;
      return since === null ? [] : [{ connection, since }];
    });
    const evicted = idle.sort((a, b) => a.since - b.since).slice(0, Math.ceil(max / evictedShare));
    for (const { connection } of evicted) {
      remove(connection);
      connection.terminate();
    }
    if (evicted.length === 0) network.fullAt = clock.second;
    logLimit({ address, connections: network.count, scope: network === all ? 'all' : 'one address' });
    return evicted.length > 0;
  }

  function logLimit(line: { address: string; connections: number; scope: string }): void {
    if (clock.second - loggedAt < logSecondsMin) return;
    loggedAt = clock.second;
    log.warn(line, 'connection limit reached');
  }

  return {
    add(connection, address) {
      const name = clientNetwork(address);
      const network = byNetwork.get(name) ?? { name, count: 0, fullAt: -1 };
      const max = trustedProxies.includes(address) ? Number.POSITIVE_INFINITY : limits.perAddressMax;
      if (!hasRoom(network, max, address) || !hasRoom(all, limits.connectionsMax, address)) return false;
      networks.set(connection, network);
      byNetwork.set(name, network);
      network.count++;
      all.count++;
      return true;
    },
    remove,
    [Symbol.iterator]: () => networks.keys(),
  };
}

/** For IPv6 the /64 prefix, because a customer has all addresses in it. */
function clientNetwork(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [before = [], after = []] = address
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

export const queuedBytesMax = 64 * 1024 * 1024;

interface StallableConnection {
  stalled: { bytes: number; since: number } | null;
  terminate(): void;
}

export function limitQueuedBytes(
  buffer: WriteBuffer,
  { connections, bytesMax }: { connections: Iterable<StallableConnection>; bytesMax: number },
): void {
  let isScheduled = false;
  buffer.onQueued = () => {
    if (isScheduled || buffer.queuedBytes <= bytesMax) return;
    isScheduled = true;
    // Deferred, because a response may be half written at this point.
    queueMicrotask(() => {
      isScheduled = false;
      const stalledConnections: { connection: StallableConnection; bytes: number; since: number }[] = [];
      for (const connection of connections) {
        const { stalled } = connection;
        if (stalled) stalledConnections.push({ connection, ...stalled });
      }
      stalledConnections.sort((a, b) => a.since - b.since || b.bytes - a.bytes);
      // Frees a quarter more than needed, so that not every response causes a scan.
      let left = buffer.queuedBytes - bytesMax * 0.75;
      for (const { connection, bytes } of stalledConnections) {
        if (left <= 0) break;
        connection.terminate();
        left -= bytes;
      }
    });
  };
}
