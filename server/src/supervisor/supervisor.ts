import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { socketPathBytesMax } from '../config/network.ts';
import type { Environment } from '../config/values.ts';
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../drivers/database/database.ts';
import { explainPortInUse, prepareSocketPath } from '../drivers/os/listen.ts';
import { checkOpenFiles } from '../drivers/os/open-files.ts';
import { embeddedRawServer } from '../drivers/raw-database/raw-databases.ts';
import { type Asked, type Supervised, supervisedVariable } from '../drivers/supervisor/messages.ts';
import { type Part, startPart } from './part.ts';
import { asServerUser, chooseServerUser, handOverDataDir } from './server-user.ts';

/** Longer than the server takes at most to end its requests. */
const serverGraceMs = 40_000;
const agentGraceMs = 20_000;
const restartMs = { first: 200, max: 10_000 };
/** After this time a part counts as sound again. */
const steadyMs = 60_000;

export interface Supervisor {
  /** Exit code. */
  ended: Promise<number>;
  restartServer(): void;
  stop(): void;
  stopNow(): void;
}

/** Starts PostgreSQL, the agent and the server, restarts what ends, and stops them in their order. */
export function createSupervisor(config: Config, log: Logger, ownEnv: Environment): Supervisor {
  const ended = Promise.withResolvers<number>();
  const stopping = Promise.withResolvers<number>();
  let isStopping = false;
  let restarting: Promise<void> | null = null;
  let server: Part | null = null;
  let agent: Part | null = null;
  let opened: Database | null = null;
  const raw = config.databaseUrl || config.rawDatabaseUrl ? null : embeddedRawServer(config.dataDir, log);

  async function run(): Promise<number> {
    checkOpenFiles();
    await checkListeners(config);
    mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
    const serverUser = chooseServerUser(config, log, ownEnv);
    if (serverUser) handOverDataDir(config.dataDir, serverUser);
    const supervised: Supervised = {
      agentSocket: config.runtime.kind === 'process' ? agentSocketPath(config.dataDir) : null,
      gatewayPort: findFreePort(),
      serverUser,
    };
    const env = { ...ownEnv, [supervisedVariable]: JSON.stringify(supervised) };
    const through = serverUser
      ? asServerUser(
          serverUser,
          listPorts(config).map(({ port }) => port),
        )
      : [];
    void keepRunning('the server', () => {
      server = startPart({ program: 'main.ts', env, through, onAsk: (what) => answer(what, database) });
      return server;
    });
    // After the server, which takes longest to load.
    const database = openDatabase({ ...config, log: (line) => log.info(line) });
    if (supervised.agentSocket)
      void keepRunning('the agent', () => {
        agent = startPart({ program: 'agent.ts', env });
        return agent;
      });
    opened = await database;
    void opened.exited.then(() => {
      log.error('PostgreSQL exited unexpectedly; stopping, so that a restart can repair it');
      stopping.resolve(1);
    });
    if (raw?.exists()) raw.url().catch(() => {});
    return stopping.promise;
  }

  async function answer(asked: Asked, database: Promise<Database>): Promise<unknown> {
    if (asked === 'rawDatabase') return raw?.url();
    const { kind, controlUrl, rowsUrl, adminUrl } = await database;
    return { kind, controlUrl, rowsUrl, adminUrl };
  }

  /** Until the supervisor stops. The server must become ready once. */
  async function keepRunning(name: string, start: () => Part): Promise<void> {
    let waitMs = restartMs.first;
    let wasReady = false;
    while (!isStopping) {
      const startedAt = performance.now();
      const part = start();
      const { code, ready } = await part.exited;
      wasReady ||= ready;
      if (isStopping) return;
      if (!wasReady) return stopping.resolve(code || 1);
      if (part === server && restarting) {
        await restarting;
        continue;
      }
      waitMs =
        performance.now() - startedAt > steadyMs ? restartMs.first : Math.min(waitMs * 2, restartMs.max);
      log.error({ code, restart_in_ms: waitMs }, `${name} ended unexpectedly`);
      await Bun.sleep(waitMs);
    }
  }

  async function end(code: number): Promise<void> {
    isStopping = true;
    await server?.stop(serverGraceMs);
    await agent?.stop(agentGraceMs);
    await raw?.stop();
    await opened?.stop();
    ended.resolve(code);
  }

  void run()
    .catch((error: unknown) => {
      console.error(`svc could not start: ${error instanceof Error ? error.message : String(error)}`);
      return 1;
    })
    .then(end)
    .catch((error: unknown) => {
      log.error({ err: error }, 'could not stop cleanly');
      ended.resolve(1);
    });

  return {
    ended: ended.promise,
    restartServer() {
      if (isStopping || restarting || !server) return;
      log.info('restarting the server');
      restarting = server.stop(serverGraceMs).finally(() => {
        restarting = null;
      });
    },
    stop: () => stopping.resolve(0),
    stopNow() {
      isStopping = true;
      server?.kill();
      agent?.kill();
      raw?.stopNow();
      opened?.stopNow();
      ended.resolve(130);
    },
  };
}

/** Before anything is set up: a port in use is the usual mistake. */
async function checkListeners(config: Config): Promise<void> {
  if (config.socket) await prepareSocketPath(config.socket);
  for (const { variable, host, port } of listPorts(config))
    explainPortInUse({ variable, port }, () =>
      Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true),
    );
}

function listPorts({ socket, host, port, https, metrics }: Config) {
  const all = [
    { variable: 'SVC_PORT', host, port: socket ? undefined : port },
    { variable: 'SVC_HTTPS_PORT', host, port: https?.port },
    { variable: 'SVC_METRICS_PORT', host, ...metrics.listener },
  ];
  return all.flatMap((each) => (each.port === undefined ? [] : [{ ...each, port: each.port }]));
}

function findFreePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}

function agentSocketPath(dataDir: string): string {
  const inside = join(dataDir, 'agent.sock');
  if (Buffer.byteLength(inside) <= socketPathBytesMax) return inside;
  return join(mkdtempSync(join(tmpdir(), 'svc-agent-')), 'agent.sock');
}
