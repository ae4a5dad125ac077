import type { Logger } from 'pino';
import type { Edge } from '../../edge/edge-request.ts';
import type { TrustedProxies } from '../client-address.ts';
import { startClock } from './clock.ts';
import { Connection, type Shared } from './connection.ts';
import { createDesk } from './outlet.ts';
import type { PassedOn } from './passed-on.ts';
import { createReadyHeads } from './ready-heads.ts';

export interface RawListener {
  port: number;
  /** Takes no new connections, lets what is under way end, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

const connectionsMax = 10_000;
/** For requests that were sent before their client could know. */
const lingerMs = 200;

/**
 * HTTP for sites alone, read from the socket: the general server makes objects of each request that cost more than the
 * answer. GET and HEAD of hosts that `edge` serves; every other connection is handed over to the general server.
 */
export function listenRaw(options: {
  host: string;
  port: number;
  /** Null: not yet. */
  edge: () => Edge | null;
  trustedProxies: TrustedProxies;
  passedOn: PassedOn;
  log: Logger;
  startClock?: typeof startClock;
}): RawListener {
  const connections = new Set<Connection>();
  const clock = (options.startClock ?? startClock)(() => {
    for (const connection of connections) connection.tick();
  });
  const shared: Shared = {
    ...options,
    clock,
    heads: createReadyHeads(clock),
    desk: createDesk(),
    waiting: 0,
    isStopping: false,
  };
  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    // A client that has said all it has to say still waits for the answer.
    allowHalfOpen: true,
    socket: {
      open(socket) {
        if (connections.size >= connectionsMax) return socket.terminate();
        // The last piece of a long body must not wait for the client to confirm the one before.
        socket.setNoDelay(true);
        socket.data = new Connection(socket, shared);
        connections.add(socket.data);
      },
      data: (socket, bytes) => socket.data?.data(bytes),
      drain: (socket) => socket.data?.drain(),
      end: (socket) => socket.data?.ended(),
      close(socket) {
        if (!socket.data) return;
        connections.delete(socket.data);
        socket.data.closed();
      },
      error(socket, error) {
        options.log.error({ err: error }, 'a connection failed');
        socket.terminate();
      },
    },
  });

  return {
    port: listener.port,
    async stop(graceMs) {
      shared.isStopping = true;
      listener.stop(false);
      const deadline = performance.now() + graceMs;
      let quietSince: number | null = null;
      while (performance.now() < deadline) {
        const isQuiet = !connections.values().some((connection) => connection.isBusy);
        quietSince = isQuiet ? (quietSince ?? performance.now()) : null;
        if (quietSince !== null && performance.now() - quietSince >= lingerMs) break;
        await Bun.sleep(10);
      }
      for (const connection of connections) {
        if (connection.isBusy) connection.terminate();
        else connection.close();
      }
      clock.stop();
    },
  };
}
