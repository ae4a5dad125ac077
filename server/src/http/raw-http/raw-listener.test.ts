import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { patientMs } from '../../../../scripts/patience.ts';
import { fail } from '../../core/problem.ts';
import type { EdgeResponse } from '../edge-request.ts';
import {
  close,
  connectClient,
  exchange,
  get,
  readBody,
  readHeader,
  readStatuses,
  siteHost,
  startListener,
  textResponse,
  waitUntilStable,
} from './testing.ts';

test('a response has its headers, length, date and a request id', async () => {
  await using raw = startListener(() => textResponse('hello', { etag: '"1"' }));
  const received = await exchange(raw.port, `${get('/')}\r\n${get('/')}${close}`);
  const second = received.slice(received.indexOf('hello') + 5);
  expect(received).toStartWith('HTTP/1.1 200 OK\r\n');
  expect(readHeader(received, 'content-type')).toBe('text/plain');
  expect(readHeader(received, 'etag')).toBe('"1"');
  expect(readHeader(received, 'content-length')).toBe('5');
  expect(readHeader(received, 'date')).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  expect(readHeader(received, 'connection')).toBeUndefined();
  expect(readHeader(second, 'connection')).toBe('close');
  expect(readBody(second)).toBe('hello');
  const ids = [received, second].map((answer) => readHeader(answer, 'x-request-id'));
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids[0]).not.toBe(ids[1]);
});

test('a well-formed request id of the client is used, another is not', async () => {
  await using raw = startListener(() => textResponse('hello'));
  const idFor = async (id: string) =>
    readHeader(await exchange(raw.port, `${get('/')}X-Request-Id: ${id}\r\n${close}`), 'x-request-id');
  expect(await idFor('mine.1_2-3')).toBe('mine.1_2-3');
  expect(await idFor('m'.repeat(128))).toBe('m'.repeat(128));
  expect(await idFor('two words')).toMatch(/^[0-9a-f-]{36}$/);
  expect(await idFor('m'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
});

test('the edge can read the request id', async () => {
  await using raw = startListener((request) => textResponse(`${request.requestId()} ${request.requestId()}`));
  for (const sent of ['mine-1', 'two words']) {
    const received = await exchange(raw.port, `${get('/')}X-Request-Id: ${sent}\r\n${close}`);
    const id = readHeader(received, 'x-request-id');
    expect(readBody(received)).toBe(`${id} ${id}`);
  }
});

test('HEAD, 204 and 304 have no body', async () => {
  const status = (request: { path: string }) => Number(request.path.slice(1));
  await using raw = startListener((request) => ({ ...textResponse('hello'), status: status(request) }));
  const received = await exchange(
    raw.port,
    `HEAD /200 HTTP/1.1\r\nHost: ${siteHost}\r\n\r\n${get('/304')}\r\n${get('/204')}\r\n${get('/404')}${close}`,
  );
  expect(readStatuses(received)).toEqual(['200', '304', '204', '404']);
  const [head = '', unchanged = '', none = '', found = ''] = received.split(/(?=HTTP\/1\.1 )/);
  expect([head, unchanged, none, found].map(readBody)).toEqual(['', '', '', 'hello']);
  expect(readHeader(head, 'content-length')).toBe('5');
  expect(readHeader(unchanged, 'content-length')).toBeUndefined();
  expect(readHeader(none, 'content-length')).toBeUndefined();
});

test('the content-length sent is the length of the body, whatever the headers contain', async () => {
  await using raw = startListener((request) =>
    request.path === '/empty'
      ? { status: 200, headers: { 'content-length': '7' }, body: null }
      : textResponse('hello', { 'content-length': '1' }),
  );
  const received = await exchange(raw.port, `${get('/empty')}\r\n${get('/')}${close}`);
  expect(received).toContain('content-length: 0\r\n');
  expect(received).toContain('content-length: 5\r\n');
  expect(received).not.toMatch(/content-length: [17]\r/);
});

test('a head that arrives byte by byte gets one response', async () => {
  await using raw = startListener(({ path }) => textResponse(`this is ${path}`));
  const client = await connectClient(raw.port);
  client.socket.setNoDelay(true);
  for (const byte of `${get('/slow')}Cookie: a=b\r\n${close}`) {
    client.send(byte);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const received = await client.closed();
  expect(readStatuses(received)).toEqual(['200']);
  expect(readBody(received)).toBe('this is /slow');
  expect(raw.requests.length).toBe(1);
});

describe('pipelined requests', () => {
  test('are answered in order, cached responses and pending ones', async () => {
    const slow = Promise.withResolvers<void>();
    await using raw = startListener(({ path }) =>
      path.startsWith('/slow') ? slow.promise.then(() => textResponse(path)) : textResponse(path),
    );
    const client = await connectClient(raw.port);
    const paths = ['/1', '/slow2', '/3', '/slow4', '/slow5', '/6'];
    client.send(paths.map((path) => `${get(path)}\r\n`).join(''));
    await client.until('/1');
    // The other requests wait for the second response.
    expect(raw.requests.map(({ path }) => path)).toEqual(['/1', '/slow2']);
    client.send(`${get('/7')}${close}`);
    slow.resolve();
    const received = await client.closed();
    expect([...received.matchAll(/\r\n\r\n(\/(?:slow)?\d)/g)].map(([, path]) => path)).toEqual([
      ...paths,
      '/7',
    ]);
  });

  test('all get a response, also when the client does not read for a while', async () => {
    const body = 'x'.repeat(8_000);
    await using raw = startListener(() => textResponse(body));
    const client = await connectClient(raw.port);
    client.socket.pause();
    const count = 5_000;
    client.send(`${get('/')}\r\n`.repeat(count - 1));
    client.send(`${get('/')}${close}`);
    // More than the buffers of both sides: the listener must wait with the rest.
    await waitUntilStable(() => raw.requests.length);
    expect(raw.requests.length).toBeLessThan(count);
    client.socket.resume();
    const received = await client.closed();
    expect(raw.requests.length).toBe(count);
    expect(readStatuses(received).length).toBe(count);
  });

  test('are read only up to a limit while a response is pending', async () => {
    const slow = Promise.withResolvers<EdgeResponse>();
    await using raw = startListener(() => slow.promise);
    const client = await connectClient(raw.port);
    const more = `${get('/')}\r\n`.repeat(400_000);
    client.send(`${get('/')}\r\n`);
    client.send(more);
    await waitUntilStable(() => client.socket.bytesWritten - client.socket.writableLength);
    expect(client.socket.writableLength).toBeGreaterThan(0);
    expect(raw.requests.length).toBe(1);
    client.socket.destroy();
    slow.resolve(textResponse('late'));
  });

  test('after a refused one are not answered', async () => {
    await using raw = startListener(() => textResponse('hello'));
    const received = await exchange(
      raw.port,
      `${get('/')}\r\nGET / HTTP/1.1\r\nHost : x\r\n\r\n${get('/')}\r\n`,
    );
    expect(readStatuses(received)).toEqual(['200', '400']);
    expect(raw.requests.length).toBe(1);
  });

  test('after the last one are not answered', async () => {
    await using raw = startListener(() => textResponse('hello'));
    expect(readStatuses(await exchange(raw.port, `${get('/')}${close}${get('/')}\r\n`))).toEqual(['200']);
    expect(readStatuses(await exchange(raw.port, `${get('/', '1.0')}\r\n${get('/')}\r\n`))).toEqual(['200']);
  });
});

test('a refusal has a detail and a request id, and closes the connection', async () => {
  await using raw = startListener(() => textResponse('hello'));
  const received = await exchange(raw.port, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
  expect(readStatuses(received)).toEqual(['400']);
  expect(readHeader(received, 'connection')).toBe('close');
  expect(readHeader(received, 'content-type')).toBe('application/problem+json');
  expect(readHeader(received, 'x-content-type-options')).toBe('nosniff');
  expect(JSON.parse(readBody(received))).toMatchObject({
    code: 'validation_failed',
    request_id: readHeader(received, 'x-request-id'),
  });
  expect(readStatuses(await exchange(raw.port, `GET /${'a'.repeat(9_000)}`))).toEqual(['414']);
});

test('an internal error is logged with the request id and not shown to the client', async () => {
  await using raw = startListener(({ path }) => {
    if (path === '/throws') throw new Error('secret');
    if (path === '/header') return textResponse('hello', { 'x-a': 'b\r\nset-cookie: c=d' });
    if (path === '/wide') return textResponse('hello', { 'x-a': '\u010a\u010aa' });
    if (path === '/busy') return Promise.reject(fail('unavailable'));
    return Promise.reject(new Error('secret'));
  });
  for (const path of ['/throws', '/rejects', '/header', '/wide']) {
    const received = await exchange(raw.port, `${get(path)}\r\n`);
    expect([path, ...readStatuses(received)]).toEqual([path, '500']);
    expect(received).not.toMatch(/secret|set-cookie/);
    const id = readHeader(received, 'x-request-id') ?? 'none';
    expect(JSON.parse(readBody(received)).request_id).toBe(id);
    expect(raw.logged.some((line) => line.includes(id) && line.includes('"error"'))).toBe(true);
  }
  expect(readStatuses(await exchange(raw.port, `${get('/busy')}\r\n`))).toEqual(['503']);
});

test('a client that half-closes still gets its response', async () => {
  const slow = Promise.withResolvers<void>();
  await using raw = startListener(() => slow.promise.then(() => textResponse('late')));
  const client = await connectClient(raw.port);
  client.socket.end(`${get('/')}\r\n${get('/')}\r\n`);
  await raw.waitForRequests(1);
  slow.resolve();
  expect(readStatuses(await client.closed())).toEqual(['200', '200']);
});

test('X-Forwarded-Proto of a trusted proxy sets the scheme', async () => {
  const schemeAt = async (options: { trusted: boolean }) => {
    await using raw = startListener(({ scheme }) => textResponse(scheme), options);
    return readBody(await exchange(raw.port, `${get('/')}X-Forwarded-Proto: HTTPS\r\n${close}`));
  };
  expect(await schemeAt({ trusted: true })).toBe('https');
  expect(await schemeAt({ trusted: false })).toBe('http');
});

test('random requests in random pieces get exactly one response each', async () => {
  await using raw = startListener(({ path }) =>
    path.length % 2 === 0 ? textResponse('now') : Promise.resolve(textResponse('soon')),
  );
  const path = fc.stringMatching(/^\/[a-z]{0,8}$/);
  const right = path.map((text) => `${get(text)}Accept: */*\r\n\r\n`);
  const wrong = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1\r\n',
      '\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\n\r\nGET / ',
      '\0',
      'G',
      ' ',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 30 }),
  );
  const piece = fc.oneof({ arbitrary: right, weight: 4 }, { arbitrary: wrong, weight: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(40)), async (pieces, cuts) => {
      const before = raw.requests.length;
      const client = await connectClient(raw.port);
      client.socket.setNoDelay(true);
      let text = pieces.join('');
      for (const cut of cuts) {
        client.send(text.slice(0, cut));
        text = text.slice(cut);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      client.socket.end(text);
      const statuses = readStatuses(await client.closed());
      const asked = raw.requests.length - before;
      const firstWrong = pieces.findIndex((item) => !/^GET \S+ HTTP\/1\.1\r\n.*\r\n\r\n$/s.test(item));
      expect(asked).toBeGreaterThanOrEqual(firstWrong < 0 ? pieces.length : firstWrong);
      expect(statuses.slice(0, asked)).toEqual(Array.from({ length: asked }, () => '200'));
      // At most one more: for input that is malformed, not supported, or without a general server.
      expect(['', '400', '405', '503']).toContain(statuses.slice(asked).join());
    }),
    { numRuns: 500 },
  );
});

test.if(process.platform === 'linux')(
  'a connection that waits to be accepted when the listener stops gets its response',
  async () => {
    await using raw = startListener(() => textResponse('hello'));
    const send = `exec 3<>/dev/tcp/127.0.0.1/${raw.port}; printf '${get('/').replaceAll('\r\n', '\\r\\n')}\\r\\n' >&3; echo sent; cat <&3`;
    const client = Bun.spawn(['bash', '-c', send], { stdout: 'pipe' });
    // In this loop nothing is accepted. 01: the kernel has made the connection; after it, bytes that wait to be read.
    const port = raw.port.toString(16).toUpperCase().padStart(4, '0');
    const waiting = new RegExp(`:${port} [0-9A-F]+:[0-9A-F]+ 01 0+:0*[1-9A-F]`);
    const deadline = Date.now() + patientMs(10_000);
    while (!waiting.test(readFileSync('/proc/net/tcp', 'utf8'))) {
      if (Date.now() > deadline) throw new Error('The connection was not made.');
      Bun.sleepSync(1);
    }
    await raw.stop(5_000, 'soon');
    expect(await new Response(client.stdout).text()).toContain('hello');
  },
);
