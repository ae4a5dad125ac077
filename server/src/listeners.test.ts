import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.ts';
import { readConfig } from './config.ts';
import { createLog } from './core/log.ts';
import { createMetrics } from './core/metrics.ts';
import { isListening } from './drivers/os/listen.ts';
import { acceptedRequests, refusedRequests } from './http/raw-http/smuggling-fixture.ts';
import { exchange, readBody, readStatuses, type Target } from './http/raw-http/testing.ts';
import { openListeners } from './listeners.ts';
import type { Platform } from './platform.ts';

/** The listeners of two servers, one on a port and one on a Unix socket, with what the platform would see of each request. */
const folder = mkdtempSync(join(tmpdir(), 'svc-listeners-'));
const socket = join(folder, 'svc.sock');
const received: string[] = [];
const slow = {
  count: 0,
  max: 500,
  arrived: Promise.withResolvers<void>(),
  end: Promise.withResolvers<void>(),
};
const platform = {
  edge: { serves: () => false },
  sites: null,
  rowsFastPath: null,
  handle: async (request: Request, url: URL, info: { clientAddress: string }) => {
    await request.arrayBuffer();
    received.push(url.pathname);
    if (url.pathname !== '/api/v1/slow') return new Response(info.clientAddress);
    slow.count++;
    if (slow.count === slow.max) slow.arrived.resolve();
    await slow.end.promise;
    return new Response(info.clientAddress);
  },
} as unknown as Platform;
const opened: Awaited<ReturnType<typeof openListeners>>[] = [];
const targets: Record<string, Target> = { 'the Unix socket': socket };

async function open(env: Record<string, string>) {
  const config = readConfig({ SVC_DATA_DIR: join(folder, 'data'), ...env });
  const log = createLog({ level: 'silent', write: () => {} });
  const listeners = await openListeners(config, {
    platform: () => platform,
    metrics: createMetrics(),
    supervisor: null,
    log,
  });
  opened.push(listeners);
  return { listeners, gateway: config.runtime.isolation.gatewayPort ?? 0 };
}

beforeAll(async () => {
  const [main, metrics, https] = [freePort(), freePort(), freePort()];
  targets['the port'] = main;
  targets['the metrics listener'] = metrics;
  targets['the HTTPS listener'] = { tls: https };
  const onPorts = await open({
    SVC_PORT: String(main),
    SVC_METRICS_PORT: String(metrics),
    SVC_HTTPS_PORT: String(https),
    SVC_TRUSTED_PROXIES: '127.0.0.5,10.0.0.0/8',
  });
  targets['the gateway of apps'] = onPorts.gateway;
  onPorts.listeners.accept();
  const onSocket = await open({ SVC_LISTEN: `unix:${socket}`, SVC_BASE_URL: 'http://localhost:4400' });
  onSocket.listeners.accept();
});
afterAll(async () => {
  await Promise.all(opened.map((listeners) => listeners.stop(0, 'soon')));
  rmSync(folder, { recursive: true, force: true });
});

const last = 'GET /last HTTP/1.1\r\nHost: corpus.test\r\nConnection: close\r\n\r\n';
const bytes = (text: string) => Buffer.from(text, 'latin1');

describe.each(['the port', 'the HTTPS listener', 'the Unix socket', 'the gateway of apps'])('%s', (name) => {
  test('refuses every request of the corpus with 400, and nothing behind it is answered', async () => {
    received.length = 0;
    for (const [request, text] of Object.entries(refusedRequests)) {
      const answer = await exchange(targets[name]!, bytes(text + last));
      expect([request, readStatuses(answer)]).toEqual([request, ['400']]);
      expect(answer).toMatch(/^connection: close\r$/im);
    }
    expect(received).toEqual([]);
  });

  test('answers every request that all parsers read alike, and the one behind it', async () => {
    for (const [request, text] of Object.entries(acceptedRequests)) {
      received.length = 0;
      const answer = await exchange(targets[name]!, bytes(text + last));
      expect([request, readStatuses(answer), received.length]).toEqual([request, ['200', '200'], 2]);
    }
  });
});

test('the metrics listener answers one request at most of the corpus, and then closes', async () => {
  const scrape = 'GET /metrics HTTP/1.1\r\nHost: corpus.test\r\nConnection: close\r\n\r\n';
  for (const [request, text] of Object.entries(refusedRequests)) {
    const statuses = readStatuses(await exchange(targets['the metrics listener']!, bytes(text + scrape)));
    // A body is not read here: a request with one is refused by its method.
    const isBody = /^a (?:last )?chunk|trailer/.test(request);
    expect([request, statuses]).toEqual([request, [isBody ? '405' : '400']]);
  }
  // An error ends the connection, so that nothing behind it is read.
  for (const [request, text] of Object.entries(acceptedRequests)) {
    const statuses = readStatuses(await exchange(targets['the metrics listener']!, bytes(text + scrape)));
    const isRead = text.startsWith('GET') && !/Content-Length|Expect/.test(text);
    expect([request, statuses]).toEqual([request, [isRead ? '404' : '405']]);
  }
  const twice = scrape.replace('Connection: close\r\n', '') + scrape;
  expect(readStatuses(await exchange(targets['the metrics listener']!, twice))).toEqual(['200', '200']);
});

test('a server that is not ready refuses connections, so that a proxy asks another copy', async () => {
  const ports = [freePort(), freePort(), freePort()];
  const [main, metrics, https] = ports.map(String);
  const { listeners } = await open({ SVC_PORT: main!, SVC_METRICS_PORT: metrics!, SVC_HTTPS_PORT: https! });
  const listening = () => Promise.all(ports.map((port) => isListening({ host: '127.0.0.1', port })));
  expect(await listening()).toEqual([false, false, false]);
  listeners.accept();
  expect(await listening()).toEqual([true, true, true]);
});

test('a port in use is reported before the server is ready', async () => {
  const used = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  for (const variable of ['SVC_PORT', 'SVC_METRICS_PORT', 'SVC_HTTPS_PORT'])
    await expect(open({ SVC_PORT: String(freePort()), [variable]: String(used.port) })).rejects.toThrow(
      `set ${variable} to another port`,
    );
  used.stop(true);
  const same = String(freePort());
  await expect(open({ SVC_PORT: same, SVC_METRICS_PORT: same })).rejects.toThrow(
    'set SVC_METRICS_PORT to another port',
  );
});

test('slow requests with one credential leave apps with others their share of the gateway', async () => {
  const ask = (credential: string, path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: svc.test\r\n${credential}Connection: close\r\n\r\n`;
  const [one, two] = ['Authorization: Bearer one\r\n', 'X-Api-Key: two\r\n'];
  const gateway = targets['the gateway of apps']!;
  const waiting = Array.from({ length: slow.max }, () => exchange(gateway, ask(one, '/api/v1/slow')));
  await slow.arrived.promise;
  const statusOf = async (credential: string, path: string) =>
    readStatuses(await exchange(gateway, ask(credential, path)));
  expect(await statusOf(one, '/api/v1/more')).toEqual(['503']);
  for (const [credential, path] of [
    [two, '/api/v1/more'],
    ['', '/api/v1/more'],
    [one, '/oauth/token'],
  ] as const)
    expect([credential, path, await statusOf(credential, path)]).toEqual([credential, path, ['200']]);
  slow.end.resolve();
  expect(new Set((await Promise.all(waiting)).flatMap(readStatuses))).toEqual(new Set(['200']));
  expect(await statusOf(one, '/api/v1/more')).toEqual(['200']);
});

describe('X-Forwarded-For', () => {
  const addressOf = async (name: string, forwardedFor: string | null, from?: string) => {
    const field = forwardedFor === null ? '' : `X-Forwarded-For: ${forwardedFor}\r\n`;
    const head = `GET /address HTTP/1.1\r\nHost: svc.test\r\n${field}Connection: close\r\n\r\n`;
    return readBody(await exchange(targets[name]!, head, from));
  };

  test('of a peer that is not trusted is ignored', async () => {
    for (const forged of ['203.0.113.7', '127.0.0.5', '10.0.0.1, 127.0.0.5', '127.0.0.5, 203.0.113.7'])
      expect([forged, await addressOf('the port', forged, '127.0.0.9')]).toEqual([forged, '127.0.0.9']);
  });

  test('of a trusted peer gives the last address that is not trusted', async () => {
    for (const [forwardedFor, client] of [
      ['203.0.113.7', '203.0.113.7'],
      ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
      ['198.51.100.1, 203.0.113.7, 10.1.2.3', '203.0.113.7'],
      ['203.0.113.7\r\nX-Forwarded-For: 198.51.100.2', '198.51.100.2'],
      ['nonsense', '127.0.0.5'],
      [null, '127.0.0.5'],
    ] as const)
      expect([forwardedFor, await addressOf('the port', forwardedFor, '127.0.0.5')]).toEqual([
        forwardedFor,
        client,
      ]);
  });

  test('of an app is ignored, whatever address it names and whichever address it has', async () => {
    for (const forged of [null, '203.0.113.7', '127.0.0.5', '10.0.0.1'])
      for (const from of ['127.0.0.1', '127.0.0.5'])
        expect([forged, from, await addressOf('the gateway of apps', forged, from)]).toEqual([
          forged,
          from,
          '198.18.0.2',
        ]);
  });

  test('of the proxy on the Unix socket gives the last address', async () => {
    expect(await addressOf('the Unix socket', '198.51.100.1, 203.0.113.7')).toBe('203.0.113.7');
  });
});
