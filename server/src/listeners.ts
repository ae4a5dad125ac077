import { sourcesPrefix } from '@svc/contract/deployments.ts';
import { uploadsPrefix } from '@svc/contract/static-sites.ts';
import { objectsPrefix } from '@svc/contract/storage.ts';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Metrics } from './core/metrics.ts';
import { fail } from './core/problem.ts';
import { gitPrefix } from './delivery/git-host/paths.ts';
import { type HttpsServer, openHttpsServer } from './drivers/certificates/https-server.ts';
import { explainPortInUse } from './drivers/os/listen.ts';
import { appAddress } from './http/client-address.ts';
import { strictTransportFor } from './http/headers.ts';
import { listenForMetrics, publishedMetrics } from './http/metrics.ts';
import { createPassThroughClients } from './http/raw-http/pass-through.ts';
import {
  listenRaw,
  type RawListener,
  type RawListenerOptions,
  type StopMode,
} from './http/raw-http/raw-listener.ts';
import { serve } from './http/serve.ts';
import type { Platform } from './platform.ts';
import { checkListeners } from './supervisor/shared-sockets.ts';

type Endpoint = Pick<
  RawListenerOptions,
  'host' | 'port' | 'socket' | 'descriptor' | 'clientAddress' | 'edge' | 'limits'
>;

const generalGraceMs = 100;

/** The listeners check every request, answer sites and rows, and pass the rest on to the general server. */
export function openHttpServer(options: Omit<Parameters<typeof serve>[0], 'host' | 'port' | 'clients'>) {
  const clients = createPassThroughClients();
  const general = serve({ ...options, host: clients.fallback.hostname, port: 0, clients });
  clients.fallback.port = general.port;
  const { trustedProxies, strictTransport, log } = options;
  const common = { passThroughClients: clients, rows: general.rows, trustedProxies, strictTransport, log };
  return {
    common,
    listen: (endpoint: Endpoint) => listenRaw({ ...common, ...endpoint }),
    async stop(
      listeners: readonly (Pick<RawListener, 'stop'> | null)[],
      { graceMs, how }: { graceMs: number; how: StopMode },
    ) {
      general.announceStop();
      await Promise.all(listeners.map((listener) => listener?.stop(graceMs, how)));
      await general.stop(generalGraceMs);
    },
  };
}

const metricsGraceMs = 2_000;

interface Listeners {
  https: HttpsServer | null;
  /** When the server is ready: until then other workers accept requests, and a proxy asks other servers. */
  accept(): void;
  stop(graceMs: number, how: StopMode): Promise<void>;
}

/** Nothing is set up when a port is in use. Without shared sockets the gateway listens at once, and answers 503 until `platform` is there. */
export async function openListeners(
  config: Config,
  {
    platform,
    metrics,
    supervisor,
    log,
  }: {
    platform: () => Platform | null;
    metrics: Metrics;
    supervisor: { readMetrics(): Promise<string> } | null;
    log: Logger;
  },
): Promise<Listeners> {
  const shared = config.supervised?.sockets ?? null;
  const handlers = {
    handle: (...request: Parameters<Platform['handle']>) =>
      (platform()?.handle ?? handleWhileStarting)(...request),
    fastPath: () => platform()?.rowsFastPath ?? null,
    strictTransport: strictTransportFor(config.baseUrl),
    streamPrefixes: [objectsPrefix, uploadsPrefix, sourcesPrefix, gitPrefix],
    log,
    metrics,
  };
  const edge = () => platform()?.edge ?? null;
  const server = openHttpServer({ ...config, ...handlers, hostHandler: () => platform()?.sites ?? null });
  // Apps in a sandbox use the platform here. They are not local clients, and no proxy speaks for them.
  const gatewayServer =
    config.runtime.kind === 'process'
      ? openHttpServer({
          ...handlers,
          trustedProxies: { includes: () => false },
          inFlightPerCredentialMax: 500,
        })
      : null;
  const opened: { main?: RawListener; gateway?: RawListener | undefined; metrics?: RawListener | null } = {};

  function listenOnGateway(): void {
    opened.gateway = gatewayServer?.listen({
      host: '127.0.0.1',
      port: config.supervised?.gatewayPort ?? 0,
      descriptor: shared?.gateway,
      clientAddress: appAddress,
      // All apps have one address.
      limits: { perAddressMax: Number.POSITIVE_INFINITY },
    });
  }

  function listenOnMain(): void {
    const open = () => server.listen({ ...config, descriptor: shared?.main, edge });
    opened.main =
      shared || config.socket ? open() : explainPortInUse({ variable: 'SVC_PORT', port: config.port }, open);
  }

  function listenOnMetrics(): void {
    opened.metrics = explainPortInUse(
      { variable: 'SVC_METRICS_PORT', port: config.metrics.listener?.port ?? 0 },
      () =>
        listenForMetrics(publishedMetrics(metrics, supervisor), config.metrics, {
          log,
          descriptor: shared?.metrics,
        }),
    );
  }

  if (!shared) {
    await checkListeners(config);
    listenOnGateway();
  }
  config.runtime.isolation.gatewayPort = shared
    ? (config.supervised?.gatewayPort ?? null)
    : (opened.gateway?.port ?? null);
  const https = openHttpsServer(
    config.https,
    { ...server.common, host: config.host, descriptor: shared?.https, edge },
    (host) => platform()?.edge.serves(host) ?? true,
  );

  return {
    https,
    accept() {
      if (shared) listenOnGateway();
      listenOnMain();
      explainPortInUse({ variable: 'SVC_HTTPS_PORT', port: config.https?.port ?? 0 }, () => https?.accept());
      listenOnMetrics();
    },
    async stop(graceMs, how) {
      await Promise.all([
        server.stop([opened.main ?? null, https], { graceMs, how }),
        gatewayServer?.stop([opened.gateway ?? null], { graceMs, how }),
      ]);
      await opened.metrics?.stop(how === 'soon' ? 0 : metricsGraceMs, how);
    },
  };
}

async function handleWhileStarting(): Promise<Response> {
  throw fail('unavailable', { detail: 'The server is starting.' });
}
