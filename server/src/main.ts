import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, readConfigOrExit } from './config.ts';
import { createLog } from './core/log.ts';
import { createMetrics } from './core/metrics.ts';
import { noProxyEnvironment } from './core/no-proxy.ts';
import { connectSupervisor, ReportedError } from './drivers/supervisor/connect-supervisor.ts';
import type { StopMode } from './http/raw-http/raw-listener.ts';
import { openListeners } from './listeners.ts';
import { type Platform, startPlatform } from './platform.ts';

const graceMs = 25_000;
/** npm and the terminal both deliver a Ctrl-C: signals this close together are one. */
const sameSignalMs = 500;

export async function startServer(): Promise<void> {
  const config = readConfigOrExit(process.env);
  // Before the first outgoing request.
  Object.assign(process.env, noProxyEnvironment(process.env, [reachableHost(config.host)]));
  const worker = config.supervised?.worker ?? null;
  const wholeLog = createLog({ level: config.logLevel, write: (line) => process.stderr.write(line) });
  const log = worker ? wholeLog.child({ worker: worker.number }) : wholeLog;
  const metrics = createMetrics();
  let signalledAt: number | null = null;
  let stopMode: StopMode | null = null;
  let stop: ((how: StopMode) => Promise<void>) | null = null;
  let stopNow = () => {};
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  // The supervisor's: it replaces this process.
  if (worker) process.on('SIGHUP', () => {});

  try {
    let platform: Platform | null = null;
    const supervisor = config.supervised
      ? connectSupervisor({
          onLost: onSignal,
          onDrain: () => askToStop('drain'),
          readMetrics: metrics.text,
        })
      : null;
    const listeners = await openListeners(config, { platform: () => platform, metrics, supervisor, log });
    if (process.env.SVC_EDGE_PORT && worker?.isFirst !== false)
      console.error(
        'SVC_EDGE_PORT is ignored: SVC_PORT serves sites at the same speed. Remove it, and let the load balancer use SVC_PORT.',
      );
    const started = await startPlatform(config, log, metrics, listeners.https, {
      supervisor,
      // While another worker takes over, the server as a whole is ready.
      isEnding: () => stopMode === 'soon',
    });
    platform = started;
    stopNow = () => started.database.stopNow();
    stop = async (how) => {
      started.stopWaiting();
      await listeners.stop(graceMs, how);
      supervisor?.reportMetrics(await metrics.text());
      await started.stop();
    };
    void started.database.exited.then(() => {
      log.error('PostgreSQL exited unexpectedly; stopping, so that a restart can repair it');
      process.exit(1);
    });
    if (started.seeded) {
      const { tenant, email, password } = started.seeded;
      const how = password === null ? 'whose password is unchanged' : deliverPassword(config, password);
      console.log(`Created tenant ${tenant} with the admin ${email}, ${how}.`);
    }
    if (stopMode !== null) return await stopAndExit(stopMode);
    listeners.accept();
    if (worker?.isFirst !== false) announce(config);
    supervisor?.reportReady();
    started.console.prepare().catch((error: unknown) => log.error({ err: error }, 'console bundling failed'));
  } catch (error) {
    if (!(error instanceof ReportedError))
      console.error(`svc could not start: ${error instanceof Error ? error.message : String(error)}`);
    log.debug({ err: error }, 'the server could not start');
    limitStop();
    await stop?.('soon').catch(() => {});
    process.exit(1);
  }

  function onSignal(): void {
    const now = performance.now();
    if (signalledAt === null) {
      signalledAt = now;
      askToStop('soon');
      return;
    }
    if (now - signalledAt < sameSignalMs) return;
    stopNow();
    process.exit(130);
  }

  function askToStop(how: StopMode): void {
    const isFirst = stopMode === null;
    stopMode ??= how;
    if (isFirst && stop) void stopAndExit(how);
  }

  /** An unresponsive database must not prevent the exit. */
  function limitStop(): void {
    setTimeout(() => {
      log.error('could not stop in time');
      stopNow();
      process.exit(1);
    }, graceMs + 5_000).unref();
  }

  async function stopAndExit(how: StopMode): Promise<void> {
    limitStop();
    try {
      await stop?.(how);
      process.exit(0);
    } catch (error) {
      log.error({ err: error }, 'could not stop cleanly');
      process.exit(1);
    }
  }
}

function announce({ seed, socket, baseUrl }: Config): void {
  if (seed === 'demo' && !socket) console.log('Log in on this machine: ./svc login --local');
  if (socket) console.log(`Listening on unix:${socket} for the proxy.`);
  console.log(`svc is ready on ${baseUrl}`);
}

/** A log may be readable by others: the password is printed on a terminal only. */
function deliverPassword({ dataDir }: Config, password: string): string {
  if (process.stdout.isTTY) return `password ${password} (shown once)`;
  const file = join(dataDir, 'demo-password');
  rmSync(file, { force: true });
  writeFileSync(file, `${password}\n`, { mode: 0o600, flag: 'wx' });
  return `whose password is in ${file}`;
}

/** A listener on all addresses is reached through the loopback address. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

void startServer();
