import { expect, test } from 'bun:test';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { close, connectClient, get, siteHost, startListener, textResponse } from './testing.ts';

/** In place of the general server: answers each request by hand. */
async function startByHand() {
  const connections: Socket[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    socket.on('data', () => {
      arrived.resolve();
      arrived = Promise.withResolvers<void>();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const raw = startListener(() => textResponse('site'), {
    fallbackPort: (server.address() as AddressInfo).port,
  });
  return {
    raw,
    connections,
    arrival: () => arrived.promise,
    async [Symbol.asyncDispose]() {
      await raw.stop(0);
      for (const socket of connections) socket.destroy();
      server.close();
    },
  };
}

const other = (more = '') => `GET /api HTTP/1.1\r\nHost: platform.test\r\n${more}\r\n`;
const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('a response in many pieces is passed on whole, and the next request waits for its end', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  let arrival = it.arrival();
  client.send(other() + other(close.slice(0, -2)));
  await arrival;
  arrival = it.arrival();
  const [server] = it.connections;
  const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  for (const byte of `${interim}HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n`) {
    server?.write(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await arrival;
  server?.write(answer('two'));
  const received = await client.closed();
  expect(received).toStartWith(interim);
  expect(received).toContain('3\r\none\r\n0\r\n\r\nHTTP/1.1 200 OK');
  expect(received).toEndWith('Connection: close\r\n\r\ntwo');
  expect(it.connections.length).toBe(1);
});

test('bytes behind the end of a response reach nobody', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  const arrival = it.arrival();
  client.send(other() + other());
  await arrival;
  it.connections[0]?.write(`${answer('one')}${answer('smuggled')}`);
  expect(await client.closed()).not.toContain('smuggled');
});

test('an idle connection to the general server is closed, and the next request opens another one', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  for (const count of [1, 2]) {
    const arrival = it.arrival();
    client.send(other());
    await arrival;
    const server = it.connections.at(-1);
    const closed = new Promise((resolve) => server?.once('close', resolve));
    server?.write(answer(`answer ${count}`));
    await client.until(`answer ${count}`);
    it.raw.advance(6);
    await closed;
    expect(it.connections.length).toBe(count);
  }
});

test('a client that does not read is cut off when the general server has given up', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  client.socket.pause();
  const arrival = it.arrival();
  client.send(other());
  await arrival;
  const [server] = it.connections;
  server?.write(`HTTP/1.1 200 OK\r\nContent-Length: ${64 << 20}\r\n\r\n`);
  const chunk = Buffer.alloc(1 << 20);
  while (server?.write(chunk));
  server?.destroy();
  // Ends when the client is cut off. That takes turns until the listener has read what was sent.
  let isStopped = false;
  const stopped = it.raw.stop(60_000).then(() => {
    isStopped = true;
  });
  for (const startedAt = Date.now(); !isStopped; ) {
    it.raw.advance(46);
    await new Promise((resolve) => setImmediate(resolve));
    expect(Date.now() - startedAt).toBeLessThan(50_000);
  }
  await stopped;
  client.socket.destroy();
});

test('a stop waits for a passed-on response and tells the client to close', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  const arrival = it.arrival();
  client.send(other());
  await arrival;
  const stopped = it.raw.stop(10_000);
  it.connections[0]?.write(answer('late'));
  expect(await client.closed()).toMatch(/Connection: close\r\n\r\nlate$/);
  await stopped;
});

test('a site is answered on a connection whose previous request was passed on', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  const arrival = it.arrival();
  client.send(`POST / HTTP/1.1\r\nHost: ${siteHost}\r\nContent-Length: 3\r\n\r\nabc${get('/')}${close}`);
  await arrival;
  it.connections[0]?.write(answer('posted'));
  expect(await client.closed()).toMatch(/posted[\s\S]*site$/);
});

test('a response before the end of the body leaves the connection usable', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  let arrival = it.arrival();
  client.send('POST /api HTTP/1.1\r\nHost: platform.test\r\nContent-Length: 4\r\n\r\nab');
  await arrival;
  it.connections[0]?.write(answer('early'));
  await client.until('early');
  arrival = it.arrival();
  client.send('cd');
  await arrival;
  arrival = it.arrival();
  client.send(other());
  await arrival;
  it.connections.at(-1)?.write(answer('next'));
  expect(await client.until('next')).toEndWith('next');
});

test('a large request behind another one arrives whole', async () => {
  await using it = await startByHand();
  const client = await connectClient(it.raw.port);
  const arrival = it.arrival();
  const body = 'x'.repeat(2 * 1024 * 1024);
  client.send(
    `${other()}POST /api HTTP/1.1\r\nHost: platform.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await arrival;
  const [server] = it.connections;
  let received = 0;
  const whole = new Promise<void>((resolve) => {
    server?.on('data', (bytes) => {
      received += bytes.length;
      if (received > body.length) resolve();
    });
  });
  server?.write(answer('one'));
  await whole;
  server?.write(answer('two'));
  expect(await client.until('two')).toEndWith('two');
});
