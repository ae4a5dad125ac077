import { once } from 'node:events';
import { connect } from 'node:net';
import tls from 'node:tls';
import { createLog } from '../../core/log.ts';
import type { Edge, EdgeRequest, EdgeResponse, EdgeResult } from '../edge-request.ts';
import { createPassThroughClients } from './pass-through.ts';
import { listenRaw, type RawListenerOptions } from './raw-listener.ts';
import { type Clock, startClock } from './response-heads.ts';

export const siteHost = 'shop.apps.test';
export const close = 'Connection: close\r\n\r\n';
export const readBody = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);
export const readHeader = (answer: string, name: string) =>
  new RegExp(`^${name}: (.*)\r$`, 'im').exec(answer.slice(0, answer.indexOf('\r\n\r\n') + 2))?.[1];
/** Without 100 (Continue). */
export const readStatuses = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (?!100)(\d{3}) /g)].map(([, code]) => code);

export function startListener(
  answer: (request: EdgeRequest) => EdgeResult,
  {
    fallbackPort = 1,
    passThroughClients = createPassThroughClients(fallbackPort),
    trusted = false,
    limits = {},
    ...options
  }: Partial<RawListenerOptions> & { fallbackPort?: number; trusted?: boolean } = {},
) {
  let step = () => {};
  let second = 0;
  const logged: string[] = [];
  const requests: EdgeRequest[] = [];
  let more = Promise.withResolvers<void>();
  const edge: Edge = {
    serves: (host) => host === siteHost,
    answer(request) {
      requests.push(request);
      more.resolve();
      more = Promise.withResolvers<void>();
      return answer(request);
    },
  };
  const listener = listenRaw({
    host: '127.0.0.1',
    port: 0,
    edge: () => edge,
    trustedProxies: { includes: () => trusted },
    passThroughClients,
    log: createLog({ level: 'debug', write: (line) => logged.push(line) }),
    limits,
    ...options,
    startClock(onSecond): Clock {
      step = onSecond;
      return Object.defineProperty({ ...startClock(() => {}) }, 'second', { get: () => second });
    },
  });
  return {
    ...listener,
    passThroughClients: passThroughClients ?? createPassThroughClients(),
    logged,
    requests,
    async waitForRequests(count: number): Promise<void> {
      while (requests.length < count) await more.promise;
    },
    advance(seconds: number): void {
      second += seconds;
      step();
    },
    [Symbol.asyncDispose]: () => listener.stop(0),
  };
}

export function textResponse(text: string, more: Record<string, string> = {}): EdgeResponse {
  const body = Buffer.from(text);
  const headers = { 'content-type': 'text/plain', 'content-length': String(body.length), ...more };
  return { status: 200, headers: Object.freeze(headers), body };
}

/** A port, a port with TLS, or the path of a Unix socket. */
export type Target = number | { tls: number } | string;

export async function connectClient(target: Target, localAddress = '127.0.0.1') {
  const isTls = typeof target === 'object';
  const tcp = { host: '127.0.0.1', localAddress, allowHalfOpen: true };
  const socket = isTls
    ? tls.connect({ ...tcp, port: target.tls, rejectUnauthorized: false })
    : connect(typeof target === 'string' ? { path: target, allowHalfOpen: true } : { ...tcp, port: target });
  let received = '';
  let changed = Promise.withResolvers<void>();
  let isClosed = false;
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    change();
  });
  const onClosed = () => {
    isClosed = true;
    change();
  };
  for (const event of ['end', 'close', 'error']) socket.on(event, onClosed);
  await once(socket, isTls ? 'secureConnect' : 'connect');
  return {
    socket,
    send: (bytes: string | Uint8Array) => void socket.write(bytes),
    async until(end: string): Promise<string> {
      while (!received.includes(end)) {
        if (isClosed) throw new Error(`The server closed after ${JSON.stringify(received)}`);
        await changed.promise;
      }
      return received;
    },
    async closed(): Promise<string> {
      while (!isClosed) await changed.promise;
      socket.destroy();
      return received;
    },
  };
}

export async function exchange(target: Target, bytes: string | Uint8Array, localAddress?: string) {
  const client = await connectClient(target, localAddress);
  client.send(bytes);
  return client.closed();
}

export const get = (path: string, version = '1.1') => `GET ${path} HTTP/${version}\r\nHost: ${siteHost}\r\n`;

export async function waitUntilStable(value: () => number): Promise<void> {
  for (let [last, same] = [value(), 0]; same < 20; ) {
    await Bun.sleep(10);
    const now = value();
    same = now === last ? same + 1 : 0;
    last = now;
  }
}
