import { createServer } from 'node:net';
import { createMetrics } from '../../../core/metrics.ts';
import { openHttpServer } from '../../../listeners.ts';
import { silentLog } from '../../../testing.ts';
import type { Person } from '../authenticate-visitor.ts';
import { createEdge } from '../edge.ts';
import { createSiteHandler } from '../handle-request.ts';
import type { RunningApp, SiteCache, SiteSnapshot } from '../site-cache.ts';
import { edgeDefaults, testSite } from '../testing.ts';
import { createProxy } from './create-proxy.ts';
import { type AppSleep, createInFlightCounter, type ProxyDeps, type ProxyLimits } from './pick-address.ts';

export const appHost = 'shop.apps.test';

/** A listener that proxies requests for one app to `addresses`. */
export function startProxy(options: {
  addresses: readonly string[];
  firstByteMs?: number;
  wakeMs?: number;
  hostKind?: SiteSnapshot['hostKind'];
  onVisit?: ProxyDeps['onVisit'];
  sleep?: Partial<AppSleep>;
  authMode?: RunningApp['authMode'];
  limits?: Partial<ProxyLimits>;
  authenticateVisitor?: ProxyDeps['authenticateVisitor'];
  person?: Person;
}) {
  const { authMode = 'cookie', person = null, limits } = options;
  const counts: { appId: string; status: number; bytes: number; ms: number }[] = [];
  const answered: number[] = [];
  const inFlight = createInFlightCounter();
  const listeners: ((tag: string | null) => void)[] = [];
  let { addresses } = options;
  let later: readonly string[] | null = null;
  const site = testSite({});
  const { firstByteMs = null, wakeMs = null, hostKind = site.hostKind } = options;
  const snapshot = () => ({
    ...site,
    hostKind,
    app: { deploymentId: 'd1', addresses, firstByteMs, wakeMs, authMode, tenantSlug: 'acme' },
  });
  const proxy = createProxy({
    authenticateVisitor: async () => ({ person, userId: person?.userId ?? null }),
    ...options,
    tokens: { tokenFor: (_app, visitor) => `token-of-${visitor.userId}` },
    inFlight,
    invalidation: { onChange: (listener) => void listeners.push(listener) },
    count: (_, status) => void answered.push(status),
    countApp: (appId, status, bytes, ms) => void counts.push({ appId, status, bytes, ms }),
    sleep: { ...edgeDefaults.sleep, ...options.sleep },
    log: silentLog,
    limits: { everyMs: 20, ...limits },
  });
  const sites: SiteCache = {
    peek: snapshot,
    async get() {
      addresses = later ?? addresses;
      return snapshot();
    },
    dropRelease: () => {},
  };
  const edge = createEdge({ ...edgeDefaults, sites, source: site.source, proxy });
  const trustedProxies = { includes: () => false };
  const handle = createSiteHandler({ ...edgeDefaults, edge, extraHosts: [], trustedProxies });
  const server = openHttpServer({
    trustedProxies,
    handle: async () => new Response('platform'),
    hostHandler: () => handle,
    log: silentLog,
    metrics: createMetrics(),
  });
  const listener = server.listen({ host: '127.0.0.1', port: 0, edge: () => edge });
  const serving = { stop: (graceMs: number) => server.stop([listener], { graceMs, how: 'soon' }) };
  const url = `http://127.0.0.1:${listener.port}`;
  return {
    port: listener.port,
    url,
    counts,
    answered,
    inFlight,
    edge,
    serving,
    /** The next lookup returns these addresses; the cached site still has the old ones. */
    moveTo(next: readonly string[]): void {
      later = next;
    },
    announceChange(tag: string | null = `app:${site.appId}`): void {
      for (const listener of listeners) listener(tag);
    },
    fetch: (path: string, { headers, ...init }: RequestInit = {}) =>
      fetch(url + path, { redirect: 'manual', ...init, headers: { host: appHost, ...(headers as object) } }),
    async [Symbol.asyncDispose]() {
      await serving.stop(0);
      proxy.stop();
    },
  };
}

export function startApp(
  answer: (request: Request, path: string) => Response | Promise<Response>,
  websocket: Partial<Bun.WebSocketHandler<undefined>> & { protocol?: string } = {},
) {
  const { protocol, ...handlers } = websocket;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: 2 ** 40,
    fetch(request, bun) {
      const { pathname } = new URL(request.url);
      const headers: Record<string, string> = protocol ? { 'sec-websocket-protocol': protocol } : {};
      if (pathname.startsWith('/socket') && bun.upgrade(request, { headers })) return undefined;
      return answer(request, pathname);
    },
    websocket: { message: (socket, data) => void socket.send(data), ...handlers },
  });
  return {
    address: `127.0.0.1:${server.port}`,
    server,
    [Symbol.asyncDispose]: async () => void (await server.stop(true)),
  };
}

/** An app that sends these bytes after a request head, and closes. */
export async function startRawApp(answer: (head: string) => string) {
  const heads: string[] = [];
  const server = createServer((socket) => {
    let received = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      if (!received.includes('\r\n\r\n')) return;
      heads.push(received);
      socket.end(answer(received));
      received = '';
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  return { address: `127.0.0.1:${port}`, heads, [Symbol.asyncDispose]: async () => void server.close() };
}

export const freeAddress = async () => {
  const app = startApp(() => new Response());
  await app.server.stop(true);
  return app.address;
};

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(5);
}
