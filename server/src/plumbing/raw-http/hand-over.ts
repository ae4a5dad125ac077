import type { Socket } from 'bun';
import type { PassedOn } from './passed-on.ts';
import { Pipe } from './pipe.ts';

/** Both ways between a client and the server that it was handed over to. */
export interface HandedOver {
  fromClient(bytes: Buffer): void;
  clientDrained(): void;
  clientEnded(): void;
  clientClosed(): void;
}

/**
 * A connection that is not ours to answer is another's from here on, all of it: since it is never taken back, it does
 * not matter where either of us sees the end of a request.
 */
export function handOver(input: {
  client: Socket<unknown>;
  passedOn: PassedOn;
  /** The other side has ended, and all it said has been passed on. */
  finished(): void;
  failed(error: unknown): void;
}): HandedOver {
  const { client } = input;
  let server: Socket<undefined> | null = null;
  let isClosed = false;
  const there = new Pipe(client, () => server?.shutdown());
  let back: Pipe | null = null;
  let forget = () => {};
  Bun.connect({
    ...input.passedOn.fallback,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        if (isClosed) return socket.terminate();
        server = socket;
        back = new Pipe(socket, input.finished);
        back.open(client);
        // Before the first byte goes over.
        forget = input.passedOn.note(socket, client.remoteAddress);
        there.open(socket);
      },
      data: (_, bytes) => back?.push(bytes),
      drain: () => there.drain(),
      end: () => back?.end(),
      close() {
        forget();
        // What it said before that may still be on its way to a slow client.
        back?.end();
      },
    },
  }).catch(input.failed);
  return {
    fromClient: (bytes) => there.push(bytes),
    clientDrained: () => back?.drain(),
    clientEnded: () => there.end(),
    clientClosed() {
      isClosed = true;
      server?.terminate();
    },
  };
}
