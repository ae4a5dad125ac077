import { expect, test } from 'bun:test';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createLog } from '../../core/log.ts';
import { createMetrics } from '../../core/metrics.ts';
import { parseTrustedProxies } from '../client-address.ts';
import { serve } from '../serve.ts';
import { createPassThroughClients } from './pass-through.ts';
import {
  close,
  connectClient,
  exchange,
  get,
  siteHost,
  startListener,
  textResponse,
  waitUntilStable,
} from './testing.ts';

/** The general server behind the listener: a real one, which answers with its request. */
function startGeneral(clientOf: (peer: Bun.SocketAddress | null) => string | undefined = () => undefined) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 2 ** 40,
    async fetch(request, bun) {
      if (request.headers.has('upgrade') && bun.upgrade(request)) return undefined;
      const hash = new Bun.CryptoHasher('sha256');
      let size = 0;
      for await (const chunk of request.body ?? []) {
        hash.update(chunk);
        size += chunk.length;
      }
      const { host, pathname } = new URL(request.url);
      return Response.json({
        method: request.method,
        host,
        path: pathname,
        size,
        sha256: size === 0 ? null : hash.digest('hex'),
        client: clientOf(bun.requestIP(request)) ?? null,
      });
    },
    websocket: { message: (socket, message) => void socket.send(`received ${message}`) },
  });
  return { port: Number(server.port), [Symbol.asyncDispose]: () => server.stop(true) };
}

const startServers = () => {
  const general = startGeneral((peer) => raw.passThroughClients.find(peer)?.address);
  const raw = startListener(({ path }) => textResponse(`site ${path}`), { fallbackPort: general.port });
  const stop = async () => {
    await raw.stop(0);
    await general[Symbol.asyncDispose]();
  };
  return { raw, general, [Symbol.asyncDispose]: stop };
};

test('a POST arrives with its body', async () => {
  await using it = startServers();
  const body = Buffer.alloc(3 << 20, 'abc');
  const answer = await fetch(`http://127.0.0.1:${it.raw.port}/in`, {
    method: 'POST',
    body,
    headers: { host: siteHost },
  });
  expect(await answer.json()).toMatchObject({
    method: 'POST',
    host: siteHost,
    path: '/in',
    size: body.length,
    sha256: new Bun.CryptoHasher('sha256').update(body).digest('hex'),
  });
  expect(it.raw.requests.length).toBe(0);
});

test('the general server sees the client address, and X-Forwarded-For only from a trusted proxy', async () => {
  const clients = createPassThroughClients();
  const serving = serve({
    host: '127.0.0.1',
    port: 0,
    // This server is one of the proxies: forwarded requests must not count as its own.
    trustedProxies: parseTrustedProxies('127.0.0.1,127.0.0.3'),
    handle: async (_request, _url, info) => new Response(`it is ${info.clientAddress}.`),
    clients,
    log: createLog({ level: 'silent', write: () => {} }),
    metrics: createMetrics(),
  });
  clients.fallback.port = serving.port;
  await using raw = startListener(() => textResponse('hello'), { passThroughClients: clients });
  const askedFrom = async (localAddress: string) => {
    const received = await exchange(
      raw.port,
      'GET / HTTP/1.1\r\nHost: platform.test\r\nX-Forwarded-For: 198.51.100.9\r\nConnection: close\r\n\r\n',
      localAddress,
    );
    return /it is (.*)\./.exec(received)?.[1];
  };
  expect(await askedFrom('127.0.0.2')).toBe('127.0.0.2');
  expect(await askedFrom('127.0.0.3')).toBe('198.51.100.9');
  await serving.stop(0);
});

test('a direct connection has its own address', async () => {
  await using it = startServers();
  const answer = await fetch(`http://127.0.0.1:${it.general.port}/in`);
  expect(await answer.json()).toMatchObject({ client: null });
});

test('requests of one connection are answered in order, wherever the answers come from', async () => {
  await using it = startServers();
  const other = (path: string) => `GET ${path} HTTP/1.1\r\nHost: platform.test\r\n\r\n`;
  const received = await exchange(
    it.raw.port,
    `${other('/one')}${get('/two')}\r\n${other('/three')}${other('/four')}${get('/five')}${close}`,
  );
  expect(received.match(/(site |"path":")\/[a-z]+/g)).toEqual([
    '"path":"/one',
    'site /two',
    '"path":"/three',
    '"path":"/four',
    'site /five',
  ]);
});

test('earlier requests on the connection are answered first', async () => {
  await using it = startServers();
  const received = await exchange(
    it.raw.port,
    `${get('/one')}\r\n${get('/two')}\r\nPOST /three HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: 3\r\n` +
      'Connection: close\r\n\r\nabc',
  );
  expect(received.match(/site \/one|site \/two|"path":"\/three"/g)).toEqual([
    'site /one',
    'site /two',
    '"path":"/three"',
  ]);
  expect(received).toContain('"size":3');
});

test('a WebSocket works through it', async () => {
  await using it = startServers();
  const socket = new WebSocket(`ws://127.0.0.1:${it.raw.port}/socket`);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  socket.onopen = () => socket.send('hello');
  socket.onmessage = ({ data }) => resolve(data);
  socket.onerror = () => reject(new Error('The WebSocket failed.'));
  expect(await promise).toBe('received hello');
  socket.close();
});

test('a request hidden in a body is not answered', async () => {
  await using it = startServers();
  const hidden = `${get('/hidden')}\r\n`;
  const received = await exchange(
    it.raw.port,
    `POST /open HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: ${hidden.length}\r\nConnection: close\r\n\r\n${hidden}`,
  );
  expect(received).toContain(`"size":${hidden.length}`);
  expect(it.raw.requests.length).toBe(0);
});

test('a client that half-closes after a POST gets the response', async () => {
  await using it = startServers();
  const client = await connectClient(it.raw.port);
  client.socket.end(
    `POST /in HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc`,
  );
  expect(await client.closed()).toContain('"size":3');
});

test('the client gets 503 where the general server is gone', async () => {
  await using raw = startListener(() => textResponse('hello'), { fallbackPort: 1 });
  const received = await exchange(raw.port, `POST / HTTP/1.1\r\nHost: ${siteHost}\r\n\r\n`);
  expect(received).toStartWith('HTTP/1.1 503 ');
  expect(received).toMatch(/^x-request-id: /m);
});

test('a response before the end of the request body arrives', async () => {
  const refusal = 'HTTP/1.1 413 Payload Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.pause().end(refusal, () => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await using raw = startListener(() => textResponse('hello'), { fallbackPort: port });
  const client = await connectClient(raw.port);
  client.send(`POST / HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: ${pumpedBytes}\r\n\r\n`);
  pump(client.socket);
  expect(await client.closed()).toBe(refusal);
  server.close();
});

test('back pressure works in both directions, and nothing is lost', async () => {
  const arrived = Promise.withResolvers<Socket>();
  const server = createServer((socket) => arrived.resolve(socket.pause()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await using raw = startListener(() => textResponse('hello'), {
    fallbackPort: (server.address() as AddressInfo).port,
  });
  const client = connect(raw.port, '127.0.0.1');
  const head = `POST / HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: ${pumpedBytes}\r\n\r\n`;
  client.write(head);
  const other = await arrived.promise;
  client.pause();
  const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${pumpedBytes}\r\n\r\n`;
  for (const [from, to, more] of [
    [client, other, head.length],
    [other, client, answer.length],
  ] as const) {
    if (from === other) other.write(answer);
    const before = process.memoryUsage().rss;
    const pumped = pump(from);
    await waitUntilStable(() => pumped.bytes);
    expect(pumped.bytes).toBeLessThan(pumpedBytes);
    expect(process.memoryUsage().rss - before).toBeLessThan(pumpedBytes / 2);
    await readAll(to, pumpedBytes + more);
  }
  client.destroy();
  server.close();
});

const pumpedBytes = 128 << 20;

/** Repeats one chunk, no faster than the client reads. */
function pump(socket: Socket): { bytes: number } {
  const chunk = Buffer.alloc(1 << 20, 1);
  const pumped = { bytes: 0 };
  const more = () => {
    for (let isTaken = true; isTaken && pumped.bytes < pumpedBytes; pumped.bytes += chunk.length)
      isTaken = socket.write(chunk);
  };
  socket.on('drain', more);
  more();
  return pumped;
}

async function readAll(socket: Socket, size: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = size;
  socket.on('data', (bytes) => {
    left -= bytes.length;
    if (left === 0) resolve();
  });
  socket.resume();
  await promise;
  expect(left).toBe(0);
}
