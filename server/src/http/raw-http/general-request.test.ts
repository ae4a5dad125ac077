import { expect, test } from 'bun:test';
import { createLog } from '../../core/log.ts';
import { createMetrics } from '../../core/metrics.ts';
import { openFrontDoor } from '../front-door.ts';
import type { RequestHandler } from '../handlers.ts';
import { close, connectClient, exchange, readBody, readHeader, readStatuses } from './testing.ts';

/** The listener and the general server behind it, which must receive nothing. */
function startDoor(answer: (request: Request, url: URL) => Response | Promise<Response>) {
  const logged: string[] = [];
  const metrics = createMetrics();
  const handle: RequestHandler = async (request, url, { setRoute }) => {
    setRoute('test');
    return answer(request, url);
  };
  const log = createLog({ level: 'debug', write: (line) => logged.push(line) });
  const trustedProxies = { includes: () => false };
  const door = openFrontDoor({ trustedProxies, handle, log, metrics });
  const listener = door.listen({ host: '127.0.0.1', port: 0 });
  return {
    door,
    port: listener.port,
    logged,
    metrics,
    stop: (graceMs: number) => door.stop([listener], graceMs),
    [Symbol.asyncDispose]: () => door.stop([listener], 0),
  };
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: platform.test\r\n${more}`;

test('the request arrives with URL, headers and body, and no connection to the general server', async () => {
  await using it = startDoor(async (request) =>
    Response.json({
      url: request.url,
      method: request.method,
      cookie: request.headers.get('cookie'),
      body: await request.text(),
    }),
  );
  const added: unknown[] = [];
  it.door.common.passThroughClients.add = (local) => void added.push(local);
  const received = await exchange(
    it.port,
    'POST /a/../b|c?d=[1] HTTP/1.1\r\nHost: Platform.Test:80\r\nCookie: a=1\r\nCookie: b=2\r\n' +
      `Content-Length: 5\r\nX-Request-Id: mine\r\n${close}hello`,
  );
  expect(JSON.parse(readBody(received))).toEqual({
    url: 'http://platform.test/b|c?d=[1]',
    method: 'POST',
    cookie: 'a=1; b=2',
    body: 'hello',
  });
  expect(received.match(/^x-request-id: .*\r$/gm)).toEqual(['x-request-id: mine\r']);
  expect(readHeader(received, 'content-length')).toBe(String(readBody(received).length));
  expect(added).toEqual([]);
  expect(it.logged.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: 'request', request_id: 'mine', route: 'test', path: '/b|c', status: 200 }),
  );
  expect(await it.metrics.text()).toMatch(/route="test",method="POST",status="200"\} 1/);
});

test('several Set-Cookie headers stay several', async () => {
  await using it = startDoor(() => {
    const headers = new Headers({ 'content-type': 'text/plain' });
    headers.append('set-cookie', 'a=1; Expires=Wed, 18 Nov 2026 00:00:00 GMT');
    headers.append('set-cookie', 'b=2');
    return new Response('x', { headers });
  });
  const received = await exchange(it.port, get('/', close));
  expect(received.match(/^set-cookie: .*\r$/gm)).toEqual([
    'set-cookie: a=1; Expires=Wed, 18 Nov 2026 00:00:00 GMT\r',
    'set-cookie: b=2\r',
  ]);
});

test('pipelined requests are answered in order, however long each takes', async () => {
  await using it = startDoor(async (_, { pathname }) => {
    if (pathname === '/slow') await Bun.sleep(30);
    return new Response(pathname);
  });
  const received = await exchange(
    it.port,
    `${get('/slow')}\r\n${get('/fast')}\r\n${get('/slow')}\r\n${get('/last', close)}`,
  );
  expect(received.match(/\/(?:slow|fast|last)/g)).toEqual(['/slow', '/fast', '/slow', '/last']);
});

test('responses without a body, HEAD and HTTP/1.0 are framed as they must be', async () => {
  await using it = startDoor((_, { pathname }) => {
    const status = Number(pathname.slice(1));
    if (status === 204 || status === 304) return new Response(null, { status });
    return new Response(new Blob(['streamed']).stream().pipeThrough(new TransformStream()), { status });
  });
  const received = await exchange(
    it.port,
    `${get('/204')}\r\n${get('/304')}\r\nHEAD /200 HTTP/1.1\r\nHost: platform.test\r\n\r\n${get('/200', close)}`,
  );
  expect(readStatuses(received)).toEqual(['204', '304', '200', '200']);
  expect(received.match(/streamed/g)?.length).toBe(1);
  const old = await exchange(it.port, 'GET /200 HTTP/1.0\r\nHost: platform.test\r\n\r\n');
  expect(readHeader(old, 'transfer-encoding')).toBeUndefined();
  expect(readHeader(old, 'connection')).toBe('close');
  expect(readBody(old)).toBe('streamed');
});

test('each event of a stream is sent at once', async () => {
  let send = (_: string) => {};
  await using it = startDoor(() => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (text) => controller.enqueue(Buffer.from(text));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const client = await connectClient(it.port);
  client.send(get('/events', '\r\n'));
  await client.until('transfer-encoding: chunked');
  for (const event of ['data: one\n\n', 'data: two\n\n']) {
    send(event);
    expect(await client.until(`\r\n${event}`)).not.toContain('\r\n0\r\n');
  }
  client.socket.destroy();
});

test('a stream that fails does not look complete', async () => {
  await using it = startDoor((_, { pathname }) => {
    let count = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await Bun.sleep(1);
        if (count++ > 0) throw new Error('broken');
        controller.enqueue(Buffer.from('begun'));
      },
    });
    return new Response(body, pathname === '/length' ? { headers: { 'content-length': '10' } } : {});
  });
  const chunked = await exchange(it.port, get('/', '\r\n'));
  expect(chunked).toContain('5\r\nbegun\r\n');
  expect(chunked).toEndWith('5\r\nbegun\r\n');
  expect(readBody(await exchange(it.port, get('/length', '\r\n')))).toBe('begun');
});

test('the request is aborted when its client leaves, before the response and within it', async () => {
  const waiting = Promise.withResolvers<void>();
  const aborted = { before: Promise.withResolvers<void>(), within: Promise.withResolvers<void>() };
  const canceled = Promise.withResolvers<void>();
  await using it = startDoor(async ({ signal }, { pathname }) => {
    const name = pathname === '/before' ? 'before' : 'within';
    signal.addEventListener('abort', () => aborted[name].resolve());
    if (name === 'before') {
      waiting.resolve();
      await aborted.before.promise;
      return new Response('late');
    }
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      controller.enqueue(Buffer.from('begun'));
    return new Response(new ReadableStream<Uint8Array>({ start, cancel: () => canceled.resolve() }));
  });
  const first = await connectClient(it.port);
  first.send(get('/before', '\r\n'));
  await waiting.promise;
  first.socket.end();
  await aborted.before.promise;
  const second = await connectClient(it.port);
  second.send(get('/within', '\r\n'));
  await second.until('begun');
  second.socket.end();
  await Promise.all([aborted.within.promise, canceled.promise]);
});

test('a small body that takes seconds is passed on in pieces', async () => {
  const begun = Promise.withResolvers<void>();
  await using it = startDoor(async (request) => {
    begun.resolve();
    return new Response(await request.text());
  });
  const client = await connectClient(it.port);
  client.send(`POST / HTTP/1.1\r\nHost: platform.test\r\nContent-Length: 6\r\n${close}one`);
  await begun.promise;
  client.send('two');
  expect(readBody(await client.closed())).toBe('onetwo');
});

test('a stop waits for the response, which is the last of its connection', async () => {
  const waiting = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const it = startDoor(async () => {
    waiting.resolve();
    await ready.promise;
    return new Response('done');
  });
  const client = await connectClient(it.port);
  client.send(get('/', '\r\n'));
  await waiting.promise;
  const stopped = it.stop(10_000);
  ready.resolve();
  const received = await client.closed();
  expect([readHeader(received, 'connection'), readBody(received)]).toEqual(['close', 'done']);
  await stopped;
});
