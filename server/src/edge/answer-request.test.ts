import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { parseTrustedProxies } from '../plumbing/client-address.ts';
import { createMetrics } from '../plumbing/metrics.ts';
import { serve } from '../plumbing/serve.ts';
import { silentLog } from '../testing.ts';
import { createSiteHandle } from './answer-request.ts';
import type { EdgeAnswering, EdgeRequest } from './edge-request.ts';

/** The listener as it is, with an edge that says what it was asked. */
const asked: EdgeRequest[] = [];
function answer({ path, method }: EdgeRequest): EdgeAnswering {
  const body = new TextEncoder().encode(path);
  const headers = { 'content-length': String(body.length) };
  if (method === 'HEAD') return { status: 200, headers, body: null };
  return { status: 200, headers, body: path === '/pieces' ? new Blob([body]).stream() : body };
}
const isTrusted = { now: false };
const serving = serve({
  host: '127.0.0.1',
  port: 0,
  trustedProxies: parseTrustedProxies(''),
  sites: () => sites,
  handle: async () => new Response('platform'),
  log: silentLog,
  metrics: createMetrics(),
});
const sites = createSiteHandle({
  baseUrl: `http://localhost:${serving.port}`,
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
  test("hands a site's host over as the edge knows it", async () => {
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

  test('keeps the hosts of the platform to itself, and what is no host', async () => {
    for (const host of [
      'localhost',
      `localhost:${serving.port}`,
      '127.0.0.1',
      'apps.test',
      'apps.test.evil',
      'a b',
    ])
      expect([host, (await ask('/', host)).text]).not.toEqual([host, '/']);
    expect((await ask('/', 'a.apps.test')).text).toBe('/');
    expect((await ask('/?a=http://a.apps.test/', 'a b')).text).not.toBe('/');
  });

  test('refuses a request that names two hosts', async () => {
    const before = asked.length;
    const socket = connect(serving.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a.apps.test\r\nhost: b.apps.test\r\n\r\n');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect([chunk.toString().split('\r\n')[0], asked.length]).toEqual(['HTTP/1.1 400 Bad Request', before]);
  });

  test('gives each answer an id, that of the client where it is one', async () => {
    expect((await ask('/', 'a.apps.test', { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe(
      'mine-1',
    );
    expect((await ask('/', 'a.apps.test', { 'x-request-id': 'no id' })).headers.get('x-request-id')).toMatch(
      /^[0-9a-f-]{36}$/,
    );
  });

  test('tells that id to whoever answers', async () => {
    for (const sent of ['mine-2', 'no id']) {
      const { headers } = await ask('/', 'a.apps.test', { 'x-request-id': sent });
      expect(asked.at(-1)?.requestId()).toBe(headers.get('x-request-id')!);
    }
  });

  test('believes nobody but its proxies that the visitor came by HTTPS', async () => {
    const header = { 'x-forwarded-proto': 'https' };
    await ask('/', 'a.apps.test', header);
    expect(asked.at(-1)?.scheme).toBe('http');
    isTrusted.now = true;
    await ask('/', 'a.apps.test', header);
    expect(asked.at(-1)?.scheme).toBe('https');
    isTrusted.now = false;
  });

  test('tells the length to HEAD, and streams what comes in pieces', async () => {
    expect((await ask('/abc', 'a.apps.test', {}, 'HEAD')).headers.get('content-length')).toBe('4');
    expect((await ask('/pieces', 'a.apps.test')).text).toBe('/pieces');
  });
});
