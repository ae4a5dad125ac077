import { afterAll, expect, test } from 'bun:test';
import { createLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import { exchange, siteHost, startListener, textResponse } from './raw-http/testing.ts';
import { serve } from './serve.ts';

const received: string[] = [];
const general = serve({
  host: '127.0.0.1',
  port: 0,
  trustedProxies: { includes: () => false },
  handle: async (request, url) => {
    received.push(url.pathname);
    return new Response(await request.text());
  },
  fastPath: () => ({
    prefix: '/data/',
    answer: async (_, path) => {
      received.push(path);
      return { status: 200, headers: {}, body: 'rows' };
    },
  }),
  log: createLog({ level: 'silent', write: () => {} }),
  metrics: createMetrics(),
});
const raw = startListener(() => textResponse('site'), { fallbackPort: general.port });
afterAll(async () => {
  await raw.stop(0);
  await general.stop(0);
});
const listeners = { 'the general listener': general.port, 'the listener for sites': raw.port };

for (const [name, port] of Object.entries(listeners)) {
  const refused: [string, string, string][] = [
    ['two equal Content-Length headers', 'POST /', 'Content-Length: 2\r\nContent-Length: 2'],
    ['a Content-Length that is a list', 'POST /', 'Content-Length: 2, 2'],
    ['two Content-Length headers that differ', 'POST /', 'Content-Length: 2\r\nContent-Length: 3'],
    ['Content-Length beside Transfer-Encoding', 'POST /', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    ['two Host headers', 'POST /', `Host: ${siteHost}\r\nContent-Length: 2`],
    // The listener for sites answers these itself.
    ['two Host headers for a page', 'GET /', `Host: ${siteHost}`],
    ['two equal Content-Length headers for a page', 'GET /', 'Content-Length: 0\r\nContent-Length: 0'],
  ];
  test.each(refused)(`${name} refuses %s and closes the connection`, async (_, line, fields) => {
    for (const path of ['strict', 'data/strict']) {
      const head = `${line}${path} HTTP/1.1\r\nHost: ${siteHost}\r\n${fields}\r\n\r\n`;
      const next = `GET /smuggled HTTP/1.1\r\nHost: ${siteHost}\r\nConnection: close\r\n\r\n`;
      const body = line === 'GET /' ? '' : '{}';
      const answer = await exchange(port, `${head}${body}${next}`);
      expect([path, answer.split('\r\n')[0], answer.split('HTTP/1.1 ').length - 1]).toEqual([
        path,
        'HTTP/1.1 400 Bad Request',
        1,
      ]);
    }
    expect(received).toEqual([]);
  });
}

const site = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${siteHost}\r\n${more}\r\n`;

test('the listener for sites refuses a target at another host than Host, also where it would pass the request on', async () => {
  for (const method of ['GET', 'POST']) {
    const answer = await exchange(
      raw.port,
      `${method} http://other.test/ HTTP/1.1\r\nHost: ${siteHost}\r\nConnection: close\r\n\r\n`,
    );
    expect([method, answer.split('\r\n')[0]]).toEqual([method, 'HTTP/1.1 400 Bad Request']);
  }
});

test('the listener for sites answers pipelined requests in order', async () => {
  const answer = await exchange(
    raw.port,
    site('/one') + site('/two') + site('/three', 'Connection: close\r\n'),
  );
  expect(answer.match(/site$|siteHTTP/g)?.length).toBe(3);
});

// Bun closes a connection on which a request arrives before the response to the previous one has begun.
test('the general listener answers pipelined requests in order or closes the connection', async () => {
  const slow = Promise.withResolvers<void>();
  const server = serve({
    host: '127.0.0.1',
    port: 0,
    trustedProxies: { includes: () => false },
    handle: async (_, url) => {
      if (url.pathname === '/slow') await slow.promise;
      return new Response(`answer to ${url.pathname};`);
    },
    log: createLog({ level: 'silent', write: () => {} }),
    metrics: createMetrics(),
  });
  const received = exchange(server.port, site('/slow') + site('/fast', 'Connection: close\r\n'));
  slow.resolve();
  const answers: string[] = (await received).match(/answer to [^;]+/g) ?? [];
  expect(answers).toEqual(['answer to /slow', 'answer to /fast'].slice(0, Math.max(1, answers.length)));
  await server.stop(0);
});
