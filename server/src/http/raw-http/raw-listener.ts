import tls from 'node:tls';
import type { SocketHandler, TCPSocketListener, TCPSocketListenOptions, UnixSocketListener } from 'bun';
import type { Logger } from 'pino';
import { socketPeer, type TrustedProxies } from '../client-address.ts';
import type { Edge } from '../edge-request.ts';
import { waitUntilIdle } from '../listener.ts';
import { openSocketCalls } from '../socket-calls.ts';
import { Connection } from './connection.ts';
import {
  type ConnectionLimits,
  createConnectionRegistry,
  defaultConnectionLimits,
  type ListenerState,
  limitQueuedBytes,
  queuedBytesMax,
} from './connection-limits.ts';
import { createWriteBuffer } from './output-queue.ts';
import type { PassThroughClients } from './pass-through.ts';
import type { RowsListener } from './raw-request.ts';
import { createResponseHeads, startClock } from './response-heads.ts';

export interface RawListener {
  port: number;
  /** Null for a socket of several processes, and where the system has none. */
  fd: number | null;
  closeAfterResponses(): void;
  stop(graceMs: number, how?: StopMode): Promise<void>;
}

/**
 * `soon`: the server ends, and idle connections are closed at once, as without a mode, when other listeners go on at the same
 * address. `drain`: another process has the socket, and there is time: a connection is closed after its next response, or when it
 * has been idle for a while, so that no request arrives at one that is being closed.
 */
export type StopMode = 'soon' | 'drain';

const pendingResponsesMax = 2_000;
const idleMs = 200;
/** For the connections of a network nearby whose last packet is under way. */
export const acceptMs = 50;
/** While draining: a client that has not sent a request for this long will hardly do so in the same moment. */
const idleSecondsMax = 2;

export interface TlsOptions extends TlsKeyPair {
  hosts: readonly HostCertificate[];
}

export interface TlsKeyPair {
  cert: string;
  key: string;
}

export interface HostCertificate extends TlsKeyPair {
  serverName: string;
}

export interface RawListenerOptions {
  host: string;
  port: number;
  socket?: string | null;
  /** A socket that is bound to host and port, or to the path; it is closed with the listener. */
  descriptor?: number | undefined;
  reusePort?: boolean;
  tls?: TlsOptions;
  edge?: () => Edge | null;
  rows?: () => RowsListener | null;
  accepts?: (host: string) => boolean;
  trustedProxies: TrustedProxies;
  /** Null: requests that are not answered here get 405. */
  passThroughClients: PassThroughClients | null;
  clientAddress?: string;
  strictTransport?: string | null;
  log: Logger;
  startClock?: typeof startClock;
  limits?: Partial<ConnectionLimits & { pendingResponsesMax: number; queuedBytesMax: number }>;
}

/** Raw sockets, because the general server's objects per request cost more than the response. */
export function listenRaw(options: RawListenerOptions): RawListener {
  const clock = (options.startClock ?? startClock)(() => {
    for (const connection of connections) connection.tick();
  });
  const limits = { ...defaultConnectionLimits, pendingResponsesMax, queuedBytesMax, ...options.limits };
  const connections = createConnectionRegistry<Connection>({ ...options, limits, clock });
  const shared: ListenerState = {
    edge: () => null,
    rows: () => null,
    accepts: () => true,
    ...options,
    scheme: options.tls ? 'https' : 'http',
    clock,
    heads: createResponseHeads(clock, options.strictTransport),
    writeBuffer: createWriteBuffer(),
    pendingResponses: 0,
    pendingResponsesMax: limits.pendingResponsesMax,
    isStopping: false,
  };
  limitQueuedBytes(shared.writeBuffer, { connections, bytesMax: limits.queuedBytesMax });
  const clientAddress = options.clientAddress ?? (options.socket ? socketPeer : null);
  const handlers: SocketHandler<Connection> = {
    open(socket) {
      const address = clientAddress ?? socket.remoteAddress;
      const connection = new Connection(socket, shared, address);
      if (!connections.add(connection, address)) return void socket.terminate();
      // The last packet of a long body must not wait for an acknowledgement (Nagle's algorithm).
      socket.setNoDelay(true);
      socket.data = connection;
    },
    data: (socket, bytes) => socket.data?.data(bytes),
    drain: (socket) => socket.data?.drain(),
    end: (socket) => socket.data?.ended(),
    close(socket) {
      if (!socket.data) return;
      connections.remove(socket.data);
      socket.data.closed();
    },
    error(socket, error) {
      options.log.error({ err: error }, 'connection error');
      socket.terminate();
    },
  };
  // A client that has half-closed still waits for the response.
  const common = { allowHalfOpen: true, socket: handlers };
  const listener =
    options.descriptor !== undefined
      ? listenOnDescriptor(options.descriptor)
      : options.socket
        ? listenOnSocket(options.socket)
        : listenOnPort();

  function listenOnDescriptor(fd: number): TCPSocketListener<Connection> {
    openSocketCalls()?.listen(fd);
    // The types leave `fd` out.
    return listenWith({ ...common, ...({ fd } as unknown as { hostname: string; port: number }) });
  }

  function listenOnPort(): TCPSocketListener<Connection> {
    const { host: hostname, port, reusePort = false } = options;
    // The types leave `reusePort` out, so the options are not a literal argument.
    const endpoint = { ...common, hostname, port, reusePort };
    return listenWith(endpoint);
  }

  function listenWith(endpoint: TCPSocketListenOptions<Connection>): TCPSocketListener<Connection> {
    const { tls } = options;
    if (!tls) return Bun.listen(endpoint);
    const { hosts, ...defaultPair } = tls;
    const listening = Bun.listen({ ...endpoint, tls: defaultPair });
    addHostCertificates(listening, hosts);
    return listening;
  }

  function listenOnSocket(unix: string): UnixSocketListener<Connection> {
    const umask = process.umask(0o117);
    try {
      return Bun.listen({ ...common, unix });
    } finally {
      process.umask(umask);
    }
  }

  const fd = options.descriptor === undefined && 'fd' in listener ? Number(listener.fd) : null;
  return {
    fd,
    port: options.descriptor === undefined && 'port' in listener ? listener.port : options.port,
    closeAfterResponses() {
      shared.isStopping = true;
    },
    async stop(graceMs, how) {
      shared.isStopping = true;
      if (how === 'soon') {
        // A connection that the kernel has made, but nobody has accepted, would be reset with its request. A socket of several
        // workers is closed to new ones by their supervisor.
        if (fd !== null) openSocketCalls()?.ignoreNewConnections(fd);
        await Bun.sleep(acceptMs);
      }
      listener.stop(false);
      const isBusy = () => {
        if (how !== 'drain') return Iterator.from(connections).some((connection) => connection.isBusy);
        for (const connection of connections) connection.closeIfIdle(idleSecondsMax);
        return Iterator.from(connections).some((each) => each.isBusy || each.idleSince !== null);
      };
      await waitUntilIdle(isBusy, { graceMs, idleMs });
      for (const connection of connections) {
        if (connection.isBusy) connection.terminate();
        else connection.close();
      }
      clock.stop();
    },
  };
}

/** Bun.listen takes one certificate. Bun's own `tls.Server` adds those of other host names in this way. */
function addHostCertificates(listener: TCPSocketListener<Connection>, hosts: readonly HostCertificate[]) {
  if (hosts.length === 0) return;
  const server = Object.assign(tls.createServer(), { _handle: listener });
  for (const { serverName, cert, key } of hosts) server.addContext(serverName, { cert, key });
}
