import { expect, test } from 'bun:test';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { parseTrustedProxies } from '../client-address.ts';
import { createLog } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { serve } from '../serve.ts';
import { get, sayAll, siteHost, startRaw, talk, textAnswer, untilStill } from './testing.ts';

/** What the general server is to the listener: a real one, which says what it was asked. */
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
    websocket: { message: (socket, message) => void socket.send(`heard ${message}`) },
  });
  return { port: Number(server.port), [Symbol.asyncDispose]: () => server.stop(true) };
}

const started = () => {
  const general = startGeneral((peer) => raw.passedOn.clientOf(peer));
  const raw = startRaw(({ path }) => textAnswer(`site ${path}`), { fallbackPort: general.port });
  const both = new AsyncDisposableStack();
  both.use(general);
  both.use(raw);
  return { raw, general, [Symbol.asyncDispose]: () => both.disposeAsync() };
};

test('a POST arrives with its body', async () => {
  await using it = started();
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
  expect(it.raw.asked.length).toBe(0);
});

test('who asked is the client, and whom a proxy names only where that proxy is trusted', async () => {
  const serving = serve({
    host: '127.0.0.1',
    port: 0,
    // This server itself is one of them: what it hands over must not be taken for its own.
    trustedProxies: parseTrustedProxies('127.0.0.1,127.0.0.3'),
    handle: async (_request, _url, info) => new Response(`it is ${info.clientAddress}.`),
    clientOf: (peer) => raw.passedOn.clientOf(peer),
    log: createLog({ level: 'silent', write: () => {} }),
    metrics: createMetrics(),
  });
  await using raw = startRaw(() => textAnswer('hello'), { fallbackPort: serving.port });
  const askedFrom = async (localAddress: string) => {
    const heard = await sayAll(
      raw.port,
      'GET / HTTP/1.1\r\nHost: platform.test\r\nX-Forwarded-For: 198.51.100.9\r\nConnection: close\r\n\r\n',
      localAddress,
    );
    return /it is (.*)\./.exec(heard)?.[1];
  };
  expect(await askedFrom('127.0.0.2')).toBe('127.0.0.2');
  expect(await askedFrom('127.0.0.3')).toBe('198.51.100.9');
  await serving.stop(0);
});

test('a connection that was not handed over is known by its own address', async () => {
  await using it = started();
  const answer = await fetch(`http://127.0.0.1:${it.general.port}/in`);
  expect(await answer.json()).toMatchObject({ client: null });
});

test('a host that no site has is handed over, with all that follows on the connection', async () => {
  await using it = started();
  const heard = await sayAll(
    it.raw.port,
    `GET /one HTTP/1.1\r\nHost: platform.test\r\n\r\n${get('/two')}Connection: close\r\n\r\n`,
  );
  expect(heard).toContain('"path":"/one"');
  expect(heard).toContain('"path":"/two"');
  expect(it.raw.asked.length).toBe(0);
});

test('what was asked before it is answered before it, here', async () => {
  await using it = started();
  const heard = await sayAll(
    it.raw.port,
    `${get('/one')}\r\n${get('/two')}\r\nPOST /three HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: 3\r\n` +
      'Connection: close\r\n\r\nabc',
  );
  expect(heard.match(/site \/one|site \/two|"path":"\/three"/g)).toEqual([
    'site /one',
    'site /two',
    '"path":"/three"',
  ]);
  expect(heard).toContain('"size":3');
});

test('a WebSocket works through it', async () => {
  await using it = started();
  const socket = new WebSocket(`ws://127.0.0.1:${it.raw.port}/socket`);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  socket.onopen = () => socket.send('hello');
  socket.onmessage = ({ data }) => resolve(data);
  socket.onerror = () => reject(new Error('The WebSocket failed.'));
  expect(await promise).toBe('heard hello');
  socket.close();
});

test('a body that hides a request is a body: nothing in it is answered here', async () => {
  await using it = started();
  const hidden = `${get('/hidden')}\r\n`;
  const heard = await sayAll(
    it.raw.port,
    `POST /open HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: ${hidden.length}\r\nConnection: close\r\n\r\n${hidden}`,
  );
  expect(heard).toContain(`"size":${hidden.length}`);
  expect(it.raw.asked.length).toBe(0);
});

test('a client that closes its side after a POST hears the answer', async () => {
  await using it = started();
  const talking = await talk(it.raw.port);
  talking.socket.end(
    `POST /in HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc`,
  );
  expect(await talking.closed()).toContain('"size":3');
});

test('where the general server is gone, the client is told', async () => {
  await using raw = startRaw(() => textAnswer('hello'), { fallbackPort: 1 });
  const heard = await sayAll(raw.port, `POST / HTTP/1.1\r\nHost: ${siteHost}\r\n\r\n`);
  expect(heard).toStartWith('HTTP/1.1 503 ');
  expect(heard).toMatch(/^x-request-id: /m);
});

test('an answer that comes before the body is through is heard', async () => {
  const refusal = 'HTTP/1.1 413 Payload Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.pause().end(refusal, () => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await using raw = startRaw(() => textAnswer('hello'), { fallbackPort: port });
  const talking = await talk(raw.port);
  talking.say(`POST / HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: ${pumpedBytes}\r\n\r\n`);
  pump(talking.socket);
  expect(await talking.closed()).toBe(refusal);
  server.close();
});

test('no more is read from either side than the other takes, and nothing is lost', async () => {
  const arrived = Promise.withResolvers<Socket>();
  const server = createServer((socket) => arrived.resolve(socket.pause()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await using raw = startRaw(() => textAnswer('hello'), {
    fallbackPort: (server.address() as AddressInfo).port,
  });
  const client = connect(raw.port, '127.0.0.1');
  const head = `POST / HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: ${pumpedBytes}\r\n\r\n`;
  client.write(head);
  const other = await arrived.promise;
  client.pause();
  for (const [from, to, more] of [
    [client, other, head.length],
    [other, client, 0],
  ] as const) {
    const before = process.memoryUsage().rss;
    const pumped = pump(from);
    await untilStill(() => pumped.bytes);
    expect(pumped.bytes).toBeLessThan(pumpedBytes);
    expect(process.memoryUsage().rss - before).toBeLessThan(pumpedBytes / 2);
    await readAll(to, pumpedBytes + more);
  }
  client.destroy();
  server.close();
});

const pumpedBytes = 128 << 20;

/** Says one thing over and over, no faster than it is taken. */
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
