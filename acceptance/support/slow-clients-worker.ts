import { connect, type Socket } from 'node:net';

/** Slow clients in a thread of their own: what they do does not delay the clients that measure. */
declare const self: Worker;

export interface SlowOrder {
  port: number;
  /** Of each kind. */
  count: number;
  /** Requests of which the first part is sent at once, and the rest a byte at a time. */
  drips: { first: string; rest: string }[];
  byteMs: number;
  /** A request whose answer is not read. */
  unread: string;
}

/** How many of each kind are connected, in the order of the drips, then those that do not read. */
export interface SlowReport {
  connected: number[];
}

let kinds: Socket[][] = [];

function drip({ port, byteMs }: SlowOrder, { first, rest }: SlowOrder['drips'][number]): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write(first));
  socket.on('data', () => {});
  let at = 0;
  const timer = setInterval(() => {
    if (!socket.destroyed && at < rest.length) socket.write(rest[at++] ?? '');
  }, byteMs);
  socket.on('close', () => clearInterval(timer));
  return socket;
}

function readNothing({ port, unread }: SlowOrder): Socket {
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(unread);
    socket.pause();
  });
  return socket;
}

/** `look`: who is connected now. `leave`: all do. */
self.onmessage = ({ data }: MessageEvent<SlowOrder | 'look' | 'leave'>) => {
  if (data === 'leave') for (const socket of kinds.splice(0).flat()) socket.destroy();
  else if (data !== 'look') {
    const times = [...Array(data.count).keys()];
    kinds = [
      ...data.drips.map((each) => times.map(() => drip(data, each))),
      times.map(() => readNothing(data)),
    ];
    for (const socket of kinds.flat()) socket.on('error', () => {});
  }
  const connected = kinds.map(
    (sockets) => sockets.filter(({ connecting, destroyed }) => !connecting && !destroyed).length,
  );
  postMessage({ connected } satisfies SlowReport);
};
