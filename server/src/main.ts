import { sourcesPrefix } from '@svc/contract/deployments.ts';
import { uploadsPrefix } from '@svc/contract/static-sites.ts';
import { objectsPrefix } from '@svc/contract/storage.ts';
import { atPort } from './at-port.ts';
import { ConfigError, readConfig } from './config.ts';
import { gitPrefix } from './git-host/paths.ts';
import { openHttpsPlace } from './https-place.ts';
import { startPlatform } from './platform.ts';
import type { DirectHandle } from './plumbing/direct.ts';
import type { Edge } from './plumbing/edge-request.ts';
import type { HostHandle } from './plumbing/host-handle.ts';
import { createLog } from './plumbing/log.ts';
import { createMetrics } from './plumbing/metrics.ts';
import { fail } from './plumbing/problem.ts';
import { listenRaw } from './plumbing/raw-http/listen-raw.ts';
import { createPassedOn } from './plumbing/raw-http/passed-on.ts';
import { reachedDirectly } from './plumbing/reached-directly.ts';
import { type Handle, serve } from './plumbing/serve.ts';

/** Time for requests under way when asked to stop. */
const graceMs = 25_000;
/** npm and the terminal both deliver a Ctrl-C: signals this close together are one. */
const sameSignalMs = 500;

const config = configOrExit();
// Before anything is asked of anybody.
Object.assign(process.env, reachedDirectly(process.env, [reachableHost(config.host)]));
const log = createLog({ level: config.logLevel, write: (line) => process.stderr.write(line) });
const metrics = createMetrics();
let signalledAt: number | null = null;
let stop: (() => Promise<void>) | null = null;
let stopNow = () => {};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);

try {
  // The port first: where it is taken, nothing must have been set up behind it.
  let handle: Handle = async (_, url) => {
    if (url.pathname === '/healthz') return Response.json({ status: 'ok' });
    throw fail('unavailable', { detail: 'The server is starting.' });
  };
  let sites: HostHandle | null = null;
  let direct: DirectHandle | null = null;
  let edge: Edge | null = null;
  const passedOn = createPassedOn({ hostname: reachableHost(config.host), port: config.port });
  const serving = atPort({ variable: 'SVC_PORT', port: config.port }, () =>
    serve({
      ...config,
      handle: (request, url, info) => handle(request, url, info),
      sites: () => sites,
      direct: () => direct,
      clientOf: passedOn.clientOf,
      streams: [objectsPrefix, uploadsPrefix, sourcesPrefix, gitPrefix],
      log,
      metrics,
    }),
  );
  const { edgePort } = config;
  const raw =
    edgePort === undefined
      ? null
      : atPort({ variable: 'SVC_EDGE_PORT', port: edgePort }, () =>
          listenRaw({ ...config, port: edgePort, edge: () => edge, passedOn, log }),
        );
  let isServed = (_host: string) => true;
  const https = atPort({ variable: 'SVC_HTTPS_PORT', port: config.https?.port ?? 0 }, () =>
    openHttpsPlace(config, log, serving.answering, (host) => isServed(host)),
  );
  const platform = await startPlatform(config, log, metrics, https);
  handle = platform.handle;
  isServed = platform.edge.serves;
  sites = platform.sites;
  direct = platform.direct;
  edge = platform.edge;
  stopNow = () => platform.database.stopNow();
  stop = async () => {
    platform.stopWaiting();
    await Promise.all([serving.stop(graceMs), raw?.stop(graceMs), https?.stop(graceMs)]);
    await platform.stop();
  };
  platform.database.exited.then(() => {
    log.error('PostgreSQL ended without being asked to; stopping, so that a restart can repair it');
    process.exit(1);
  });
  if (platform.seeded) {
    const { tenant, email, password } = platform.seeded;
    const how = password === null ? 'whose password stays as it is' : `password ${password} (shown once)`;
    console.log(`Made tenant ${tenant} with the admin ${email}, ${how}.`);
  }
  if (config.seed === 'demo') console.log('Log in on this machine: ./svc login --local');
  console.log(`svc is ready on ${config.baseUrl}`);
  // So that the first one who looks does not wait for it.
  platform.console
    .prepare()
    .catch((error: unknown) => log.error({ err: error }, 'the console can not be bundled'));
  // Asked to stop while starting.
  if (signalledAt !== null) await stopAndExit();
} catch (error) {
  console.error(`svc could not start: ${error instanceof Error ? error.message : String(error)}`);
  log.debug({ err: error }, 'start');
  process.exit(1);
}

/** To connect to a listener on all addresses, one of them is needed. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function onSignal(): void {
  const now = performance.now();
  if (signalledAt === null) {
    signalledAt = now;
    if (stop) void stopAndExit();
    return;
  }
  if (now - signalledAt < sameSignalMs) return;
  stopNow();
  process.exit(130);
}

async function stopAndExit(): Promise<void> {
  // A database that no longer answers must not keep us from ending.
  setTimeout(() => {
    log.error('could not stop in time');
    stopNow();
    process.exit(1);
  }, graceMs + 5_000).unref();
  try {
    await stop?.();
    process.exit(0);
  } catch (error) {
    log.error({ err: error }, 'could not stop cleanly');
    process.exit(1);
  }
}

function configOrExit() {
  try {
    return readConfig(process.env);
  } catch (error) {
    console.error(error instanceof ConfigError ? `Configuration: ${error.message}` : String(error));
    process.exit(2);
  }
}
