import type { Logger } from 'pino';
import type { TrustedProxies } from '../client-address.ts';
import type { Edge } from '../edge-request.ts';
import { untilQuiet } from '../until-quiet.ts';
import { startClock } from './clock.ts';
import { Connection, type Shared } from './connection.ts';
import { createGuests, type GuestLimits, guestLimits } from './guests.ts';
import { createDesk } from './outlet.ts';
import type { PassedOn } from './passed-on.ts';
import { createReadyHeads } from './ready-heads.ts';
import { queuedBytesMax, shedStalled } from './shed-stalled.ts';

export interface RawListener {
  port: number;
  /** Takes no new connections, lets what is under way end, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

/** Answers that are waited for at once. */
const waitingMax = 2_000;
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
  /** For tests, as what follows. */
  startClock?: typeof startClock;
  limits?: Partial<GuestLimits & { waitingMax: number; queuedBytesMax: number }>;
}): RawListener {
  const clock = (options.startClock ?? startClock)(() => {
    for (const connection of connections) connection.tick();
  });
  const limits = { ...guestLimits, waitingMax, queuedBytesMax, ...options.limits };
  const connections = createGuests<Connection>({ ...options, limits, clock });
  const shared: Shared = {
    ...options,
    clock,
    heads: createReadyHeads(clock),
    desk: createDesk(),
    waiting: 0,
    waitingMax: limits.waitingMax,
    isStopping: false,
  };
  shedStalled(shared.desk, { connections, bytesMax: limits.queuedBytesMax });
  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    // A client that has said all it has to say still waits for the answer.
    allowHalfOpen: true,
    socket: {
      open(socket) {
        const connection = new Connection(socket, shared);
        if (!connections.add(connection, socket.remoteAddress)) return socket.terminate();
        // The last piece of a long body must not wait for the client to confirm the one before.
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
      const isBusy = () => Iterator.from(connections).some((connection) => connection.isBusy);
      await untilQuiet(isBusy, { graceMs, lingerMs });
      for (const connection of connections) {
        if (connection.isBusy) connection.terminate();
        else connection.close();
      }
      clock.stop();
    },
  };
}
