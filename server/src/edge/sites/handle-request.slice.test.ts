import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createMetrics } from '../../core/metrics.ts';
import { parseTrustedProxies } from '../../http/client-address.ts';
import type { EdgeRequest, EdgeResponse, EdgeResult } from '../../http/edge-request.ts';
import type { BunServer } from '../../http/listener.ts';
import { serve } from '../../http/serve.ts';
import { silentLog } from '../../testing.ts';
import { createSiteHandler, inFlightMax, startedMax } from './handle-request.ts';

/** The real listener with an edge that records its requests. */
const asked: EdgeRequest[] = [];
function answer({ path, method }: EdgeRequest): EdgeResult {
  const body = new TextEncoder().encode(path);
  const headers = { 'content-length': String(body.length) };
  if (method === 'HEAD') return { status: 200, headers, body: null };
  if (path === '/pieces') return { status: 200, headers: {}, body: new Blob([body]).stream() };
  if (path !== '/known-pieces') return { status: 200, headers, body };
  return Promise.resolve({ status: 200, headers, body: new Blob([body]).stream() });
}
const isTrusted = { now: false };
const serving = serve({
  host: '127.0.0.1',
  port: 0,
  trustedProxies: parseTrustedProxies(''),
  hostHandler: () => sites,
  handle: async () => new Response('platform'),
  log: silentLog,
  metrics: createMetrics(),
});
const counted: string[] = [];
const sites = createSiteHandler({
  baseUrl: `http://localhost:${serving.port}`,
  extraHosts: ['svc.internal'],
  appsDomain: 'apps.test',
  count: (method, status) => counted.push(`${method} ${status}`),
  trustedProxies: { includes: () => isTrusted.now },
  edge: {
    serves: (host) => host.endsWith('.apps.test'),
    answer(request) {
      asked.push(request);
      return answer(request);
    },
  },
});
afterAll(() => serving.stop(0));

const ask = async (path: string, host: string, headers: Record<string, string> = {}, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${serving.port}${path}`, {
    method,
    redirect: 'manual',
    headers: { host, ...headers },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
};

describe('the main listener', () => {
  test('passes the host of a site to the edge', async () => {
    await ask('/a%20b/?c=d&e', 'Shop.Apps.Test.:1234', { 'x-own': 'yes' });
    const request = asked.at(-1)!;
    expect(request).toMatchObject({
      method: 'GET',
      host: 'shop.apps.test',
      path: '/a%20b/',
      search: 'c=d&e',
      scheme: 'http',
    });
    expect([request.header('x-own'), request.header('x-none')]).toEqual(['yes', null]);
  });

  test('handles platform hosts and invalid hosts itself', async () => {
    for (const host of [
      'localhost',
      `localhost:${serving.port}`,
      '127.0.0.1',
      'svc',
      'svc.internal',
      'SVC.internal.:80',
    ])
      expect([host, (await ask('/', host)).text]).toEqual([host, 'platform']);
    expect((await ask('/', 'a b')).status).toBe(400);
    expect((await ask('/', 'a.apps.test')).text).toBe('/');
    expect((await ask('/?a=http://a.apps.test/', 'a b')).text).not.toBe('/');
  });

  test('answers 421 at unknown hosts, with a page for browsers', async () => {
    for (const host of [
      'apps.test',
      'apps.test.evil',
      'www.shop.example',
      'a.apps.test..',
      'a.svc.internal',
    ]) {
      for (const path of ['/', '/api/v1/tenants', '/login', '/data/a/b/c', '/healthz/', '/?/healthz'])
        expect([host, path, (await ask(path, host)).status]).toEqual([host, path, 421]);
    }
    const problem = await ask('/', 'www.shop.example', { 'x-request-id': 'mine-3' });
    expect(problem.headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(problem.text)).toMatchObject({ code: 'misdirected_request', request_id: 'mine-3' });
    const page = await ask('/', 'www.shop.example', { accept: 'text/html,*/*' });
    expect([page.status, page.headers.get('content-type')]).toEqual([421, 'text/html; charset=utf-8']);
    expect(counted.at(-1)).toBe('GET 421');
    expect((await ask('/', 'www.shop.example', {}, 'HEAD')).text).toBe('');
  });

  test('answers probes and ACME challenges at any host', async () => {
    for (const path of ['/healthz', '/readyz?a', '/metrics', '/.well-known/acme-challenge/token'])
      expect([path, (await ask(path, 'www.shop.example')).text]).toEqual([path, 'platform']);
  });

  test.each([
    ["two hosts, a site's first", 'a.apps.test', 'b.apps.test'],
    ["two hosts, the platform's first", `localhost:${serving.port}`, 'b.apps.test'],
    ["two hosts, the platform's last", 'b.apps.test', `localhost:${serving.port}`],
    ['a host in an encoding', '%61.apps.test'],
    ['a host with a path', 'a.apps.test/b'],
    ['a host with a user', 'localhost@a.apps.test'],
    ["the platform's host in an encoding", 'localhos%74'],
  ])('refuses %s', async (_, ...hosts) => {
    const before = asked.length;
    const socket = connect(serving.port, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\n${hosts.map((host) => `host: ${host}\r\n`).join('')}\r\n`);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect([chunk.toString().split('\r\n')[0], asked.length]).toEqual(['HTTP/1.1 400 Bad Request', before]);
  });

  test('handles a request target that is not a URL', async () => {
    const socket = connect(serving.port, '127.0.0.1');
    socket.write('CONNECT xxtest:80 HTTP/1.1\r\nhost: a.apps.test\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    expect((await ask('/', 'a.apps.test')).text).toBe('/');
  });

  test('sends the length of short streams', async () => {
    const { headers, text } = await ask('/known-pieces', 'a.apps.test');
    expect([headers.get('content-length'), text]).toEqual(['13', '/known-pieces']);
  });

  describe('under overload', () => {
    const listener = {
      streamIdleSecondsMax: 1,
      isStopping: () => false,
      peer: () => ({ address: '', scheme: 'http' as const }),
    };
    const bun = {} as BunServer;
    /** A handler whose edge answers `/now` synchronously and everything else on demand. */
    const busyHandle = (answer: () => EdgeResponse = () => ({ status: 200, headers: {}, body: null })) => {
      const waiting = Promise.withResolvers<void>();
      let begun = 0;
      const handle = createSiteHandler({
        baseUrl: 'http://svc.test',
        extraHosts: [],
        appsDomain: 'apps.test',
        count: () => {},
        trustedProxies: { includes: () => false },
        edge: {
          serves: () => true,
          answer({ path }) {
            if (path === '/now') return { status: 200, headers: {}, body: null };
            begun++;
            return waiting.promise.then(answer);
          },
        },
      });
      const ask = (path: string) => handle.answer(new Request(`http://a.apps.test${path}`), bun, listener)!;
      return { ask, waiting, begun: () => begun };
    };

    test('refuses requests that would wait, answers cached ones, and recovers', async () => {
      const { ask, waiting } = busyHandle();
      const under = Array.from({ length: inFlightMax }, () => ask('/later'));
      expect(under.every((answer) => answer instanceof Promise)).toBe(true);
      const refused = ask('/later') as Response;
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect((ask('/now') as Response).status).toBe(200);
      waiting.resolve();
      expect((await Promise.all(under)).every((answer) => answer?.status === 200)).toBe(true);
      expect(ask('/later')).toBeInstanceOf(Promise);
    });

    test('starts a limited number of requests and cancels unused bodies', async () => {
      const dropped = Promise.withResolvers<void>();
      let opened = 0;
      const { ask, waiting, begun } = busyHandle(() => {
        // The last request was refused.
        const cancel = ++opened === startedMax ? () => dropped.resolve() : () => {};
        return { status: 200, headers: {}, body: new ReadableStream({ cancel }) };
      });
      for (let at = 0; at < startedMax + 10; at++) void ask('/later');
      expect(begun()).toBe(startedMax);
      waiting.resolve();
      await dropped.promise;
    });
  });

  test("sends a request id with each response, the client's if it is valid", async () => {
    expect((await ask('/', 'a.apps.test', { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe(
      'mine-1',
    );
    expect((await ask('/', 'a.apps.test', { 'x-request-id': 'no id' })).headers.get('x-request-id')).toMatch(
      /^[0-9a-f-]{36}$/,
    );
  });

  test('passes the request id to the edge', async () => {
    for (const sent of ['mine-2', 'no id']) {
      const { headers } = await ask('/', 'a.apps.test', { 'x-request-id': sent });
      expect(asked.at(-1)?.requestId()).toBe(headers.get('x-request-id')!);
    }
  });

  test('trusts X-Forwarded-Proto of trusted proxies only', async () => {
    const header = { 'x-forwarded-proto': 'https' };
    await ask('/', 'a.apps.test', header);
    expect(asked.at(-1)?.scheme).toBe('http');
    isTrusted.now = true;
    await ask('/', 'a.apps.test', header);
    expect(asked.at(-1)?.scheme).toBe('https');
    isTrusted.now = false;
  });

  test('sends the length for HEAD, and streams other bodies', async () => {
    expect((await ask('/abc', 'a.apps.test', {}, 'HEAD')).headers.get('content-length')).toBe('4');
    expect((await ask('/pieces', 'a.apps.test')).text).toBe('/pieces');
  });
});
