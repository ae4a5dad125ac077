import type { Logger } from 'pino';
import type { TrustedProxies } from '../client-address.ts';
import type { Edge } from '../edge-request.ts';
import { waitUntilIdle } from '../listener.ts';
import { Connection, type ListenerState } from './connection.ts';
import {
  type ConnectionLimits,
  createConnectionRegistry,
  defaultConnectionLimits,
  limitQueuedBytes,
  queuedBytesMax,
} from './connection-limits.ts';
import { createWriteBuffer } from './output-queue.ts';
import type { PassThroughClients } from './pass-through.ts';
import { createResponseHeads, startClock } from './response-heads.ts';

export interface RawListener {
  port: number;
  stop(graceMs: number): Promise<void>;
}

const pendingResponsesMax = 2_000;
const idleMs = 200;

/** Raw sockets, because the general server's objects per request cost more than the response. */
export function listenRaw(options: {
  host: string;
  port: number;
  edge: () => Edge | null;
  trustedProxies: TrustedProxies;
  passThroughClients: PassThroughClients;
  strictTransport?: string | null;
  log: Logger;
  startClock?: typeof startClock;
  limits?: Partial<ConnectionLimits & { pendingResponsesMax: number; queuedBytesMax: number }>;
}): RawListener {
  const clock = (options.startClock ?? startClock)(() => {
    for (const connection of connections) connection.tick();
  });
  const limits = { ...defaultConnectionLimits, pendingResponsesMax, queuedBytesMax, ...options.limits };
  const connections = createConnectionRegistry<Connection>({ ...options, limits, clock });
  const shared: ListenerState = {
    ...options,
    clock,
    heads: createResponseHeads(clock, options.strictTransport),
    writeBuffer: createWriteBuffer(),
    pendingResponses: 0,
    pendingResponsesMax: limits.pendingResponsesMax,
    isStopping: false,
  };
  limitQueuedBytes(shared.writeBuffer, { connections, bytesMax: limits.queuedBytesMax });
  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    // A client that has half-closed still waits for the response.
    allowHalfOpen: true,
    socket: {
      open(socket) {
        const connection = new Connection(socket, shared);
        if (!connections.add(connection, socket.remoteAddress)) return socket.terminate();
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
    },
  });

  return {
    port: listener.port,
    async stop(graceMs) {
      shared.isStopping = true;
      listener.stop(false);
      const isBusy = () => Iterator.from(connections).some((connection) => connection.isBusy);
      await waitUntilIdle(isBusy, { graceMs, idleMs: idleMs });
      for (const connection of connections) {
        if (connection.isBusy) connection.terminate();
        else connection.close();
      }
      clock.stop();
    },
  };
}
