import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { connectClient, exchange } from '../../../http/raw-http/testing.ts';
import { appHost, startApp, startProxy } from './testing.ts';

const mib = 1024 * 1024;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await Bun.sleep(5);
}

/** An app that sends these bytes after a request head, and closes. */
async function startRawApp(answer: (head: string) => string) {
  const heads: string[] = [];
  const server = createServer((socket) => {
    let heard = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1');
      if (!heard.includes('\r\n\r\n')) return;
      heads.push(heard);
      socket.end(answer(heard));
      heard = '';
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  return { address: `127.0.0.1:${port}`, heads, [Symbol.asyncDispose]: async () => void server.close() };
}

const freeAddress = async () => {
  const app = startApp(() => new Response());
  await app.server.stop(true);
  return app.address;
};

describe('a proxied request', () => {
  test('has the method, path, query, host and headers as sent, and the client address', async () => {
    await using app = startApp(async (request) =>
      Response.json({
        method: request.method,
        url: new URL(request.url).pathname + new URL(request.url).search,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }),
    );
    await using proxy = startProxy({ addresses: [app.address] });
    const answer = await proxy.fetch('/a%20b/c?x=1&y=%2F', {
      method: 'PATCH',
      body: 'hello',
      headers: { 'x-mine': '1', cookie: 'a=1; __Host-svc_site=secret; b=2', 'x-request-id': 'mine-1' },
    });
    const told = await answer.json();
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(told).toMatchObject({ method: 'PATCH', url: '/a%20b/c?x=1&y=%2F', body: 'hello' });
    expect(told.headers).toMatchObject({
      host: appHost,
      'x-mine': '1',
      cookie: 'a=1; b=2',
      'content-length': '5',
      'x-request-id': 'mine-1',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': appHost,
    });
  });

  test.each([
    ['X-Svc-User: forged'],
    ['x_svc_user: forged'],
    ['X-SVC-Anything: forged'],
    ['X-Forwarded-For: forged'],
    ['X_Forwarded_Proto: forged'],
    ['Forwarded: for=forged'],
    ['X-Real-Ip: forged'],
    ['Connection: close, x-secret\r\nX-Secret: forged'],
    ['Proxy-Authorization: forged'],
    ['TE: forged'],
    ['Keep-Alive: forged'],
    ['Upgrade: forged'],
  ])('does not have %p', async (lines) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({
      addresses: [app.address],
      person: { userId: 'u1', email: 'e', name: 'n', relation: 'none' },
    });
    const close = lines.startsWith('Connection') ? '' : 'Connection: close\r\n';
    await exchange(proxy.port, `GET / HTTP/1.1\r\nHost: ${appHost}\r\n${lines}\r\n${close}\r\n`);
    expect(app.heads.at(-1)).not.toContain('forged');
    expect(app.heads.at(-1)?.toLowerCase()).toContain('x-svc-user: token-of-u1\r\n');
  });

  test("has the platform's headers even if Connection names them", async () => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({
      addresses: [app.address],
      person: { userId: 'u1', email: 'e', name: 'n', relation: 'none' },
    });
    const named = 'Connection: close, x-svc-user, x-forwarded-for, host, content-length';
    await exchange(
      proxy.port,
      `POST / HTTP/1.1\r\nHost: ${appHost}\r\n${named}\r\nContent-Length: 2\r\n\r\nab`,
    );
    const head = app.heads.at(-1)?.toLowerCase() ?? '';
    expect(head).toContain('x-svc-user: token-of-u1\r\n');
    expect(head).toContain('x-forwarded-for: 127.0.0.1\r\n');
    expect(head).toContain(`host: ${appHost}\r\n`);
    expect(head).toContain('content-length: 2\r\n');
  });

  test.each([
    ['two hosts', `Host: ${appHost}\r\nHost: other.apps.test\r\n\r\n`],
    [
      'a length and chunks',
      `Host: ${appHost}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `Host: ${appHost}\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
    ['a length that is none', `Host: ${appHost}\r\nContent-Length: +3\r\n\r\nabc`],
    ['an encoding that is none', `Host: ${appHost}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ])('is refused with %s', async (_name, rest) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`POST / HTTP/1.1\r\n${rest}`);
    expect(await client.until('\r\n')).toStartWith('HTTP/1.1 400');
    client.socket.destroy();
    expect(app.heads).toEqual([]);
  });

  test('has no body for GET', async () => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const inner = `GET /inner HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`;
    const first = `GET /first HTTP/1.1\r\nHost: ${appHost}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    const last = `GET /last HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`;
    const client = await connectClient(proxy.port);
    client.send(first);
    await client.until('ok');
    client.send(last);
    await client.closed();
    expect(app.heads.map((head) => head.split(' ')[1])).toEqual(['/first', '/last']);
    expect(app.heads[0]?.toLowerCase()).not.toContain('content-length');
  });

  test.each(['OPTIONS', 'DELETE', 'PUT', 'PROPFIND'])('can have the method %s', async (method) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const head = `${method} / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(proxy.port, head)).toEndWith('ok');
    expect(app.heads.at(-1)).toStartWith(`${method} / HTTP/1.1\r\n`);
  });

  test.each(['TRACE', 'CONNECT'])('cannot have the method %s', async (method) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`${method} / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`);
    expect(await client.until('\r\n')).toMatch(/^HTTP\/1.1 (?:4|5)/);
    client.socket.destroy();
    expect(app.heads).toEqual([]);
  });

  test('does not have the credential that the platform consumed', async () => {
    await using app = startApp((request) => Response.json(Object.fromEntries(request.headers)));
    const headers = { authorization: 'Bearer t', 'x-api-key': 'k' };
    const seen = async (authMode: 'bearer' | 'api_key' | 'cookie' | 'anonymous') => {
      await using proxy = startProxy({ addresses: [app.address], authMode });
      const told = await (await proxy.fetch('/', { headers })).json();
      return [told.authorization, told['x-api-key']];
    };
    expect(await seen('bearer')).toEqual([undefined, 'k']);
    expect(await seen('api_key')).toEqual(['Bearer t', undefined]);
    expect(await seen('cookie')).toEqual(['Bearer t', 'k']);
    expect(await seen('anonymous')).toEqual(['Bearer t', 'k']);
  });
});

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
    const said = await answer.text();
    expect([answer.status, text === null ? null : said]).toEqual([status, text]);
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
    const said = await exchange(
      proxy.port,
      `GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`,
    );
    const [head = '', body = ''] = said.split('\r\n\r\n');
    expect(head).not.toMatch(/content-type/i);
    expect(head).toContain(length);
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
    let says: (text: string) => void = () => {};
    await using app = startApp((request) => {
      request.signal.addEventListener('abort', () => {
        isGone = true;
      });
      const body = new ReadableStream({
        start(controller) {
          says = (text) => controller.enqueue(new TextEncoder().encode(text));
          says('data: 1\n\n');
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
    await client.until('data: 1');
    says('data: 2\n\n');
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

describe('an app that does not respond', () => {
  const page = { headers: { accept: 'text/html' } };

  test('is starting if it has no instance, as a page or a problem', async () => {
    await using proxy = startProxy({ addresses: [] });
    const shown = await proxy.fetch('/', page);
    expect([shown.status, shown.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await shown.text()).toContain('Starting');
    const told = await proxy.fetch('/', { headers: { 'x-request-id': 'mine-2' } });
    expect(await told.json()).toMatchObject({ code: 'app_starting', request_id: 'mine-2' });
    expect(told.headers.get('x-request-id')).toBe('mine-2');
  });

  test('is 502 if nothing listens at its address', async () => {
    await using proxy = startProxy({ addresses: [await freeAddress()] });
    expect(await (await proxy.fetch('/')).json()).toMatchObject({ code: 'app_unreachable', status: 502 });
    expect(await (await proxy.fetch('/', page)).text()).toContain('does not respond');
  });

  test.each(['GET', 'POST'])('is found at the one address that listens: %s', async (method) => {
    await using app = startApp(async (request) => new Response(`here ${await request.text()}`));
    await using proxy = startProxy({ addresses: [await freeAddress(), app.address, await freeAddress()] });
    for (let at = 0; at < 6; at++) {
      const body = method === 'POST' ? `body ${at}` : undefined;
      const answer = await proxy.fetch('/', { method, ...(body ? { body } : {}) });
      expect(await answer.text()).toBe(`here ${body ?? ''}`);
    }
  });

  test('gets requests at its addresses in turn', async () => {
    await using one = startApp(() => new Response('one'));
    await using two = startApp(() => new Response('two'));
    await using proxy = startProxy({ addresses: [one.address, two.address] });
    const said = new Set<string>();
    for (let at = 0; at < 4; at++) said.add(await (await proxy.fetch('/')).text());
    expect([...said].sort()).toEqual(['one', 'two']);
  });

  test('is found at its new address, also for a request with a body', async () => {
    await using old = startApp(async (request) => new Response(`old ${await request.text()}`));
    await using next = startApp(async (request) => new Response(`next ${await request.text()}`));
    await using proxy = startProxy({ addresses: [old.address] });
    expect(await (await proxy.fetch('/', { method: 'POST', body: '1' })).text()).toBe('old 1');
    proxy.moveTo([next.address]);
    await old.server.stop(true);
    expect(await (await proxy.fetch('/', { method: 'POST', body: '2' })).text()).toBe('next 2');
    expect(await (await proxy.fetch('/')).text()).toBe('next ');
  });

  test('is retried at another address at once', async () => {
    const old = startApp(() => new Response('old'));
    await using next = startApp(() => new Response('next'));
    await using proxy = startProxy({ addresses: [old.address] });
    expect(await (await proxy.fetch('/')).text()).toBe('old');
    proxy.moveTo([next.address]);
    await old.server.stop(true);
    expect(await (await proxy.fetch('/')).text()).toBe('next');
  });

  test('is 504 without a first byte in time', async () => {
    await using app = startApp(() => new Promise<Response>(() => {}));
    await using proxy = startProxy({ addresses: [app.address], limits: { firstByteMs: 100 } });
    expect(await (await proxy.fetch('/')).json()).toMatchObject({ code: 'app_timeout', status: 504 });
    const posted = await proxy.fetch('/', { method: 'POST', body: 'x', ...page });
    expect([posted.status, await posted.text()]).toMatchObject([504, expect.stringContaining('too long')]);
    expect(proxy.inFlight.count(app.address)).toBe(0);
  });

  test('is cut after a silent body, and later for an event stream', async () => {
    const silent = (type: string) => () =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('begun')) }),
        { headers: { 'content-type': type } },
      );
    const limits = { idleMs: 100, longIdleMs: 1_500 };
    const lasted = async (type: string) => {
      await using app = startApp(silent(type));
      await using proxy = startProxy({ addresses: [app.address], limits });
      const begun = performance.now();
      const heard = await exchange(proxy.port, `GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
      expect(heard).toContain('begun');
      expect(heard).not.toEndWith('0\r\n\r\n');
      return performance.now() - begun;
    };
    expect(await lasted('text/plain')).toBeLessThan(1_000);
    expect(await lasted('text/event-stream')).toBeGreaterThan(1_000);
  });

  test('gets no requests for service workers', async () => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    expect((await proxy.fetch('/sw.js', { headers: { 'service-worker': 'script' } })).status).toBe(403);
    expect(app.heads).toEqual([]);
  });
});
