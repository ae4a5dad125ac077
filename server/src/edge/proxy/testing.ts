import { createMetrics } from '../../plumbing/metrics.ts';
import { serve } from '../../plumbing/serve.ts';
import { silentLog } from '../../testing.ts';
import { createSiteHandle } from '../answer-request.ts';
import { createEdge } from '../create-edge.ts';
import type { RunningApp, SiteSnapshot } from '../site-snapshot.ts';
import { testSite } from '../testing.ts';
import { createUnderWay } from '../under-way.ts';
import type { Person } from '../user-tokens.ts';
import { createProxy, type ProxyLimits, type ProxyParts } from './create-proxy.ts';

export const appHost = 'shop.apps.test';

/** A real listener that passes requests for one app on to where `addresses` says. */
export function startProxy(options: {
  addresses: readonly string[];
  authMode?: RunningApp['authMode'];
  limits?: Partial<ProxyLimits>;
  whoAsks?: ProxyParts['whoAsks'];
  person?: Person;
}) {
  const counts: { appId: string; status: number; bytes: number; ms: number }[] = [];
  const answered: number[] = [];
  const underWay = createUnderWay();
  const listeners: ((tag: string | null) => void)[] = [];
  let addresses = options.addresses;
  let later: readonly string[] | null = null;
  const site = testSite({});
  const snapshot = (): SiteSnapshot => ({
    ...site,
    app: { deploymentId: 'd1', addresses, authMode: options.authMode ?? 'cookie', tenantSlug: 'acme' },
  });
  const proxy = createProxy({
    whoAsks:
      options.whoAsks ??
      (async () => ({ person: options.person ?? null, userId: options.person?.userId ?? null })),
    tokens: { tokenFor: (_app, person) => `token-of-${person.userId}` },
    underWay,
    invalidation: { onChange: (listener) => void listeners.push(listener) },
    count: (_, status) => void answered.push(status),
    countOf: (appId, status, bytes, ms) => void counts.push({ appId, status, bytes, ms }),
    log: silentLog,
    limits: { everyMs: 20, ...options.limits },
  });
  const places = { baseUrl: 'http://svc.test', appsDomain: 'apps.test' };
  const edge = createEdge({
    ...places,
    sites: {
      peek: () => snapshot(),
      async get() {
        if (later !== null) addresses = later;
        return snapshot();
      },
      dropRelease: () => {},
    },
    domains: { has: () => false },
    source: site.source,
    visitors: {
      visitorAt: () => false,
      userAt: async () => null,
      turnAway: () => ({ status: 303, headers: {}, body: null }),
      platformPath: () => null,
    },
    challengeAnswer: async () => null,
    secureOrigin: () => null,
    log: silentLog,
    count: () => {},
    countOf: () => {},
    proxy,
  });
  const trustedProxies = { includes: () => false };
  const handle = createSiteHandle({ ...places, edge, extraHosts: [], count: () => {}, trustedProxies });
  const serving = serve({
    host: '127.0.0.1',
    port: 0,
    trustedProxies,
    handle: async () => new Response('platform'),
    sites: () => handle,
    log: silentLog,
    metrics: createMetrics(),
  });
  return {
    port: serving.port,
    url: `http://127.0.0.1:${serving.port}`,
    counts,
    answered,
    underWay,
    edge,
    serving,
    /** A look-up from now on finds it elsewhere; what is at hand still says the old places. */
    moveTo(next: readonly string[]): void {
      later = next;
    },
    tellChange(tag: string | null = `app:${site.appId}`): void {
      for (const listener of listeners) listener(tag);
    },
    fetch: (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${serving.port}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { host: appHost, ...(init.headers as Record<string, string>) },
      }),
    async [Symbol.asyncDispose]() {
      await serving.stop(0);
      proxy.stop();
    },
  };
}

/** An app that answers as it is told, by path. */
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
