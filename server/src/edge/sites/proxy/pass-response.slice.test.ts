import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { connectClient, exchange } from '../../../http/raw-http/testing.ts';
import { appHost, startApp, startProxy, startRawApp, until } from './testing.ts';

const mib = 1024 * 1024;

describe('a proxied response', () => {
  test('has the status, headers and body of the app without connection headers', async () => {
    await using app = await startRawApp(
      () =>
        'HTTP/1.1 201 Fine\r\nContent-Type: text/plain\r\nX-A: 1\r\nConnection: close, x-b\r\nX-B: 2\r\n' +
        'Keep-Alive: timeout=5\r\nClear-Site-Data: "cookies"\r\nContent-Length: 4\r\n\r\nmade',
    );
    await using proxy = startProxy({ addresses: [app.address] });
    const answer = await proxy.fetch('/');
    expect([answer.status, await answer.text()]).toEqual([201, 'made']);
    const names = ['x-a', 'x-b', 'keep-alive', 'clear-site-data', 'content-length'];
    expect(names.map((name) => answer.headers.get(name))).toEqual(['1', null, null, null, '4']);
  });

  test('sets cookies of the host only, and none of the platform', async () => {
    const lines = [
      'a=1; Path=/; Domain=apps.test; HttpOnly',
      `b=2; domain=.${appHost.toUpperCase()}`,
      '__Host-svc_site=evil; Path=/; Secure',
      '__host-svc_x=evil',
      'svc_session=evil',
      '=__Host-svc_site=evil',
      '__Host-own=3; Path=/; Secure',
    ];
    await using app = startApp(() => {
      const headers = new Headers();
      for (const line of lines) headers.append('set-cookie', line);
      return new Response('ok', { headers });
    });
    await using proxy = startProxy({ addresses: [app.address] });
    expect((await proxy.fetch('/')).headers.getSetCookie()).toEqual([
      'a=1; Path=/; HttpOnly',
      `b=2; domain=.${appHost.toUpperCase()}`,
      '__Host-own=3; Path=/; Secure',
    ]);
  });

  test.each([
    ['of HTTP/1.0 without a length', 'HTTP/1.0 200 OK\r\n\r\nuntil the end', 200, 'until the end'],
    [
      'in chunks with trailers',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n2\r\nok\r\n0\r\nx: 1\r\n\r\n',
      200,
      'ok',
    ],
    [
      'after early hints',
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      200,
      'ok',
    ],
    ['of 204', 'HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    ['of 304', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', 304, ''],
    ['that leads elsewhere', 'HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n', 302, ''],
    ['of no known status', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n', 502, null],
    ['that is no HTTP', 'hello\r\n\r\n', 502, null],
    ['that breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', 502, null],
  ])('is complete %s', async (_name, bytes, status, text) => {
    await using app = await startRawApp(() => bytes);
    await using proxy = startProxy({ addresses: [app.address] });
    const answer = await proxy.fetch('/');
    const body = await answer.text();
    expect([answer.status, text === null ? null : body]).toEqual([status, text]);
    await until(() => proxy.inFlight.count(app.address) === 0);
  });

  test.each([
    ['of a length', 'Content-Length: 5\r\n\r\n<h1>a', 'Content-Length: 5'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\n<h1>a\r\n0\r\n\r\n', ''],
    ['until the end', '\r\n<h1>a', ''],
    ['that is long', `Content-Length: 70000\r\n\r\n${'<h1>a'.padEnd(70_000)}`, ''],
  ])('has no content type if the app sends none, %s', async (_name, rest, length) => {
    await using app = await startRawApp(() => `HTTP/1.1 200 OK\r\n${rest}`);
    await using proxy = startProxy({ addresses: [app.address] });
    const response = await exchange(
      proxy.port,
      `GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`,
    );
    const [head = '', body = ''] = response.split('\r\n\r\n');
    expect(head).not.toMatch(/content-type/i);
    expect(head.toLowerCase()).toContain(length.toLowerCase());
    expect(head.match(/content-length/gi)?.length ?? 0).toBeLessThan(2);
    expect(body.includes('<h1>a')).toBe(true);
  });

  test('has headers and no body for HEAD', async () => {
    await using app = startApp(() => new Response('hello', { headers: { 'x-a': '1' } }));
    await using proxy = startProxy({ addresses: [app.address] });
    const answer = await proxy.fetch('/', { method: 'HEAD' });
    expect([answer.headers.get('content-length'), answer.headers.get('x-a')]).toEqual(['5', '1']);
    expect(await answer.text()).toBe('');
  });

  test('keeps its encoding, and none is requested for a client that accepts none', async () => {
    const packed = gzipSync('hello');
    await using app = startApp((request) =>
      request.headers.get('accept-encoding') === 'gzip'
        ? new Response(packed, { headers: { 'content-encoding': 'gzip' } })
        : new Response(String(request.headers.get('accept-encoding'))),
    );
    await using proxy = startProxy({ addresses: [app.address] });
    const init = { headers: { 'accept-encoding': 'gzip' }, decompress: false } as RequestInit;
    const answer = await proxy.fetch('/', init);
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(Buffer.from(await answer.bytes()).equals(packed)).toBe(true);
    const plain = await exchange(
      proxy.port,
      `GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`,
    );
    expect(plain).toEndWith('identity');
  });
});

describe('streams', () => {
  // Memory is measured elsewhere: here client and app are in the same process.
  test('carry 100 MiB in both directions and are counted', async () => {
    const pieces = 100;
    await using app = startApp(async (request, path) => {
      if (path === '/down') {
        let left = pieces;
        return new Response(
          new ReadableStream({
            pull(controller) {
              if (left-- > 0) controller.enqueue(new Uint8Array(mib));
              else controller.close();
            },
          }),
        );
      }
      let bytes = 0;
      for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length;
      return new Response(`${bytes} ${request.headers.get('content-length')}`);
    });
    await using proxy = startProxy({ addresses: [app.address] });
    let left = pieces;
    const body = new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(mib));
        else controller.close();
      },
    });
    const up = await proxy.fetch('/up', { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect(await up.text()).toBe(`${pieces * mib} null`);
    let down = 0;
    const answer = await proxy.fetch('/down');
    for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) down += piece.length;
    expect(down).toBe(pieces * mib);
    await until(() => proxy.counts.length === 2);
    expect(proxy.counts.map(({ bytes }) => bytes)).toEqual([`${pieces * mib} null`.length, pieces * mib]);
  });

  test('pass chunks on at once in both directions', async () => {
    await using app = startApp((request) => new Response(request.body));
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`POST / HTTP/1.1\r\nHost: ${appHost}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n`);
    await client.until('one');
    client.send('3\r\ntwo\r\n');
    await client.until('two');
    client.send('0\r\n\r\n');
    await client.until('0\r\n\r\n');
    client.socket.destroy();
  });

  test('send 100 Continue when expected', async () => {
    await using app = startApp(async (request) => new Response(`got ${await request.text()}`));
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`POST / HTTP/1.1\r\nHost: ${appHost}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
    await client.until('100 Continue');
    client.send('ab');
    await client.until('got ab');
    client.socket.destroy();
  });

  test('pass events one by one, and end at the app when the client disconnects', async () => {
    let isGone = false;
    let push: (text: string) => void = () => {};
    await using app = startApp((request) => {
      request.signal.addEventListener('abort', () => {
        isGone = true;
      });
      const body = new ReadableStream({
        start(controller) {
          push = (text) => controller.enqueue(new TextEncoder().encode(text));
          push('data: 1\n\n');
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
    await client.until('data: 1');
    push('data: 2\n\n');
    await client.until('data: 2');
    expect(proxy.inFlight.count(app.address)).toBe(1);
    client.socket.destroy();
    await until(() => isGone);
    await until(() => proxy.inFlight.count(app.address) === 0);
  });

  test('end at the app if the client disconnects before the response', async () => {
    let [isAsked, isGone] = [false, false];
    await using app = startApp((request) => {
      isAsked = true;
      request.signal.addEventListener('abort', () => {
        isGone = true;
      });
      return new Promise<Response>(() => {});
    });
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
    await until(() => isAsked);
    client.socket.destroy();
    await until(() => isGone);
    await until(() => proxy.inFlight.count(app.address) === 0);
  });
});
