import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourcesPrefix } from '@svc/contract/deployments.ts';
import { uploadsPrefix } from '@svc/contract/static-sites.ts';
import { objectsPrefix } from '@svc/contract/storage.ts';
import { readConfigOrExit } from './config.ts';
import { createLog } from './core/log.ts';
import { createMetrics } from './core/metrics.ts';
import { noProxyEnvironment } from './core/no-proxy.ts';
import { fail } from './core/problem.ts';
import { gitPrefix } from './delivery/git-host/paths.ts';
import { openHttpsServer } from './drivers/certificates/https-server.ts';
import { explainPortInUse, prepareSocketPath } from './drivers/os/listen.ts';
import { connectSupervisor, ReportedError } from './drivers/supervisor/connect-supervisor.ts';
import { openFrontDoor } from './http/front-door.ts';
import { strictTransportFor } from './http/headers.ts';
import { listenForMetrics } from './http/metrics.ts';
import { type Platform, startPlatform } from './platform.ts';

/** Time limit for running requests after a stop signal. */
const graceMs = 25_000;
/** From the range for tests of networks, which no client has. */
const appAddress = '198.18.0.2';
/** npm and the terminal both deliver a Ctrl-C: signals this close together are one. */
const sameSignalMs = 500;

const config = readConfigOrExit(process.env);
// Before the first outgoing request.
Object.assign(process.env, noProxyEnvironment(process.env, [reachableHost(config.host)]));
const log = createLog({ level: config.logLevel, write: (line) => process.stderr.write(line) });
const metrics = createMetrics();
let signalledAt: number | null = null;
let stop: (() => Promise<void>) | null = null;
let stopNow = () => {};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);

async function start(): Promise<void> {
  // The port is opened first, so that nothing is set up when it is in use.
  let platform: Platform | null = null;
  const handlers = {
    handle: (...request: Parameters<Platform['handle']>) =>
      (platform?.handle ?? handleWhileStarting)(...request),
    fastPath: () => platform?.rowsFastPath ?? null,
    strictTransport: strictTransportFor(config.baseUrl),
    streamPrefixes: [objectsPrefix, uploadsPrefix, sourcesPrefix, gitPrefix],
    log,
    metrics,
  };
  const edge = () => platform?.edge ?? null;
  if (config.socket) await prepareSocketPath(config.socket);
  const door = openFrontDoor({ ...config, ...handlers, hostHandler: () => platform?.sites ?? null });
  const listen = () => door.listen({ ...config, edge });
  const main = config.socket
    ? listen()
    : explainPortInUse({ variable: 'SVC_PORT', port: config.port }, listen);
  // Apps in a sandbox use the platform here. They are not local clients, and no proxy speaks for them.
  const gatewayDoor =
    config.runtime.kind === 'process'
      ? openFrontDoor({ ...handlers, trustedProxies: { includes: () => false } })
      : null;
  const gateway = gatewayDoor?.listen({
    host: '127.0.0.1',
    port: config.supervised?.gatewayPort ?? 0,
    clientAddress: appAddress,
    // All apps have one address.
    limits: { perAddressMax: Number.POSITIVE_INFINITY },
  });
  config.runtime.isolation.gatewayPort = gateway?.port ?? null;
  const https = explainPortInUse({ variable: 'SVC_HTTPS_PORT', port: config.https?.port ?? 0 }, () =>
    openHttpsServer(
      config.https,
      { ...door.common, host: config.host, edge },
      (host) => platform?.edge.serves(host) ?? true,
    ),
  );
  const metricsListener = explainPortInUse(
    { variable: 'SVC_METRICS_PORT', port: config.metrics.listener?.port ?? 0 },
    () => listenForMetrics(metrics, config.metrics, log),
  );
  if (process.env.SVC_EDGE_PORT)
    console.error(
      'SVC_EDGE_PORT is ignored: SVC_PORT serves sites at the same speed. Remove it, and let the load balancer use SVC_PORT.',
    );
  const supervisor = config.supervised ? connectSupervisor(onSignal) : null;
  const started = await startPlatform(config, log, metrics, { https, supervisor });
  platform = started;
  stopNow = () => started.database.stopNow();
  stop = async () => {
    started.stopWaiting();
    await Promise.all([door.stop([main, https], graceMs), gatewayDoor?.stop([gateway ?? null], graceMs)]);
    await metricsListener?.stop(0);
    await started.stop();
  };
  void started.database.exited.then(() => {
    log.error('PostgreSQL exited unexpectedly; stopping, so that a restart can repair it');
    process.exit(1);
  });
  if (started.seeded) {
    const { tenant, email, password } = started.seeded;
    const how = password === null ? 'whose password is unchanged' : deliverPassword(password);
    console.log(`Created tenant ${tenant} with the admin ${email}, ${how}.`);
  }
  if (config.seed === 'demo' && !config.socket) console.log('Log in on this machine: ./svc login --local');
  if (config.socket) console.log(`Listening on unix:${config.socket} for the proxy.`);
  console.log(`svc is ready on ${config.baseUrl}`);
  supervisor?.reportReady();
  // So that the first visitor does not wait for the bundle.
  started.console.prepare().catch((error: unknown) => log.error({ err: error }, 'console bundling failed'));
  // A stop signal arrived during the start.
  if (signalledAt !== null) await stopAndExit();
}

start().catch((error: unknown) => {
  if (!(error instanceof ReportedError))
    console.error(`svc could not start: ${error instanceof Error ? error.message : String(error)}`);
  log.debug({ err: error }, 'start');
  process.exit(1);
});

/** A log may be readable by others: the password is printed on a terminal only. */
function deliverPassword(password: string): string {
  if (process.stdout.isTTY) return `password ${password} (shown once)`;
  const file = join(config.dataDir, 'demo-password');
  rmSync(file, { force: true });
  writeFileSync(file, `${password}\n`, { mode: 0o600, flag: 'wx' });
  return `whose password is in ${file}`;
}

async function handleWhileStarting(_: Request, url: URL): Promise<Response> {
  if (url.pathname === '/healthz') return Response.json({ status: 'ok' });
  throw fail('unavailable', { detail: 'The server is starting.' });
}

/** A listener on all addresses is reached through the loopback address. */
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
  // An unresponsive database must not prevent the exit.
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
