import { connect, type Socket } from 'node:net';
import type { Edge, EdgeAnswer, EdgeAnswering, EdgeRequest } from '../edge-request.ts';
import { createLog } from '../log.ts';
import { type Clock, startClock } from './clock.ts';
import { listenRaw } from './listen-raw.ts';
import { createPassedOn } from './passed-on.ts';

export const siteHost = 'shop.apps.test';

/** A listener for one site, with a clock that runs only when told to, in front of `fallbackPort`. */
export function startRaw(
  answer: (request: EdgeRequest) => EdgeAnswering,
  {
    fallbackPort = 1,
    trusted = false,
    limits = {},
  }: { fallbackPort?: number; trusted?: boolean; limits?: Parameters<typeof listenRaw>[0]['limits'] } = {},
) {
  let step = () => {};
  let second = 0;
  const logged: string[] = [];
  const asked: EdgeRequest[] = [];
  let more = Promise.withResolvers<void>();
  const edge: Edge = {
    serves: (host) => host === siteHost,
    answer(request) {
      asked.push(request);
      more.resolve();
      more = Promise.withResolvers<void>();
      return answer(request);
    },
  };
  const passedOn = createPassedOn({ hostname: '127.0.0.1', port: fallbackPort });
  const listener = listenRaw({
    host: '127.0.0.1',
    port: 0,
    edge: () => edge,
    trustedProxies: { includes: () => trusted },
    passedOn,
    log: createLog({ level: 'debug', write: (line) => logged.push(line) }),
    limits,
    startClock(onSecond): Clock {
      const clock = startClock(() => {});
      step = onSecond;
      return {
        get second() {
          return second;
        },
        date: clock.date,
        nextId: clock.nextId,
        stop: clock.stop,
      };
    },
  });
  return {
    ...listener,
    passedOn,
    logged,
    /** Requests that reached the edge. */
    asked,
    async reached(count: number): Promise<void> {
      while (asked.length < count) await more.promise;
    },
    pass(seconds: number): void {
      second += seconds;
      step();
    },
    [Symbol.asyncDispose]: () => listener.stop(0),
  };
}

export function textAnswer(text: string, more: Record<string, string> = {}): EdgeAnswer {
  const body = Buffer.from(text);
  const headers = { 'content-type': 'text/plain', 'content-length': String(body.length), ...more };
  return { status: 200, headers: Object.freeze(headers), body };
}

export interface Talk {
  socket: Socket;
  say(bytes: string | Uint8Array): void;
  /** All that has been heard once it contains `end`. */
  until(end: string): Promise<string>;
  /** All that has been heard when the other side has closed. */
  closed(): Promise<string>;
}

/** A connection that says what it is told, as it is. */
export async function talk(port: number, localAddress = '127.0.0.1'): Promise<Talk> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  let heard = '';
  let changed = Promise.withResolvers<void>();
  let isClosed = false;
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1');
    change();
  });
  for (const event of ['end', 'close', 'error'] as const) {
    socket.on(event, () => {
      isClosed = true;
      change();
    });
  }
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  return {
    socket,
    say: (bytes) => void socket.write(bytes),
    async until(end) {
      while (!heard.includes(end)) {
        if (isClosed) throw new Error(`It closed after ${JSON.stringify(heard)}`);
        await changed.promise;
      }
      return heard;
    },
    async closed() {
      while (!isClosed) await changed.promise;
      socket.destroy();
      return heard;
    },
  };
}

/** Says it, and hears all until the other side closes. */
export async function sayAll(
  port: number,
  bytes: string | Uint8Array,
  localAddress?: string,
): Promise<string> {
  const talking = await talk(port, localAddress);
  talking.say(bytes);
  return talking.closed();
}

/** Without an end: more headers may follow. */
export const get = (path: string, version = '1.1') => `GET ${path} HTTP/${version}\r\nHost: ${siteHost}\r\n`;

/** Until it has been the same for a while. */
export async function untilStill(value: () => number): Promise<void> {
  for (let [last, same] = [value(), 0]; same < 20; ) {
    await Bun.sleep(10);
    const now = value();
    same = now === last ? same + 1 : 0;
    last = now;
  }
}
