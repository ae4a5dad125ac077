import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localLoginFile } from '@svc/contract/identity.ts';
import type { Logger } from 'pino';
import type { Environment } from '../config/values.ts';
import { type Config, readConfig } from '../config.ts';
import { type Database, openDatabase } from '../drivers/database/database.ts';
import { socketPathBytesMax } from '../drivers/os/listen.ts';
import { checkOpenFiles } from '../drivers/os/processes.ts';
import type { GateLogins } from '../drivers/raw-database/gate.ts';
import { embeddedRawServer } from '../drivers/raw-database/raw-databases.ts';
import {
  type ServerMessage,
  type Supervised,
  type SupervisorRequest,
  supervisedVariable,
} from '../drivers/supervisor/connect-supervisor.ts';
import { retainFixed } from './env-file.ts';
import { chooseGitUser, createGitKeeper, takeBackGitFolders } from './git-user.ts';
import { type Part, startPart } from './part.ts';
import { asServerUser, changeDataDirOwner, chooseServerUser } from './server-user.ts';
import { checkListeners, listPorts, type OpenedSockets, openSharedSockets } from './shared-sockets.ts';
import { connectionsNeeded, limitWorkers } from './worker-count.ts';
import { createWorkerMetrics } from './worker-metrics.ts';
import { createWorkers, type Workers } from './workers.ts';

const graceMs = 5_000;
const gateRestartMs = 1_000;

function createGateKeeper(log: Logger) {
  const logins: Record<string, number | null> = {};
  let part: Part | null = null;
  let isStopping = false;
  const keeper = {
    start: (): Part => {
      throw new Error('The server is starting.');
    },
    async port(): Promise<number> {
      const ready = await (part ?? open()).ready;
      if (!ready) throw new Error('The gate of app databases did not start.');
      return ready.port;
    },
    setLogins(more: GateLogins): void {
      Object.assign(logins, more);
      part?.send({ logins: more });
    },
    async stop(): Promise<void> {
      isStopping = true;
      await part?.stop(graceMs);
    },
    kill(): void {
      isStopping = true;
      part?.kill();
    },
  };

  function open(): Part {
    const opened = keeper.start();
    part = opened;
    void opened.ready.then(() => opened.send({ logins }));
    void opened.exited.then(async ({ code, ready }) => {
      part = null;
      if (isStopping) return;
      log.error({ code }, 'the gate of app databases ended unexpectedly');
      if (!ready) return;
      await Bun.sleep(gateRestartMs);
      if (!isStopping && part === null) open();
    });
    return opened;
  }

  return keeper;
}

const agentGraceMs = 20_000;
const restartMs = { first: 200, max: 10_000 };
const steadyMs = 60_000;

interface Supervisor {
  ended: Promise<number>;
  replaceWorkers(): void;
  stop(): void;
  stopNow(): void;
}

/** Starts PostgreSQL, the agent and the workers of the server, restarts what ends, and stops them in their order. */
export function createSupervisor(
  config: Config,
  log: Logger,
  { env: firstEnv, readEnvironment }: { env: Environment; readEnvironment: () => Environment },
): Supervisor {
  let env = firstEnv;
  const ended = Promise.withResolvers<number>();
  const stopping = Promise.withResolvers<number>();
  const localSecret = randomBytes(32).toString('base64url');
  let isStopping = false;
  let workers: Workers | null = null;
  let agent: Part | null = null;
  let opened: Database | null = null;
  let sockets: OpenedSockets | null = null;
  let git: ReturnType<typeof createGitKeeper> | null = null;
  const metrics = createWorkerMetrics(() => workers?.list() ?? []);
  const raw = config.databaseUrl || config.rawDatabaseUrl ? null : embeddedRawServer(config.dataDir, log);
  const gate = createGateKeeper(log);

  async function run(): Promise<number> {
    checkOpenFiles();
    await checkListeners(config);
    mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
    const serverUser = chooseServerUser(config, log, env);
    const gitUser = chooseGitUser(config.dataDir, log);
    if (serverUser) {
      if (!gitUser) takeBackGitFolders(config.dataDir, serverUser);
      changeDataDirOwner(config.dataDir, serverUser);
    }
    git = createGitKeeper(config, gitUser, log);
    sockets = await openSharedSockets(config, serverUser);
    if (!sockets)
      log.warn('the server has one worker: this system does not let several processes share a port');
    const supervised: Supervised = {
      agentSocket: config.runtime.kind === 'process' ? agentSocketPath(config.dataDir) : null,
      gatewayPort: sockets?.gatewayPort || findFreePort(),
      serverUser: serverUser && { uid: serverUser.uid, gid: serverUser.gid },
      hasGitUser: gitUser !== null,
      worker: null,
      sockets: sockets?.inWorker ?? null,
    };
    const envWith = (worker: Supervised['worker']) => ({
      ...env,
      [supervisedVariable]: JSON.stringify({ ...supervised, worker }),
    });
    const isChosen = Boolean(env.SVC_WORKERS);
    const requested = { count: sockets ? config.workers : 1, isChosen };
    const connectionsMax = connectionsNeeded(requested.count);
    const database = openDatabase({
      ...config,
      connectionsMax,
      log: (line) => log.info({ detail: line }, 'platform database'),
    });
    const count = database.then((found) => limitWorkers(requested, found, log));
    count.catch(() => {});
    if (supervised.agentSocket)
      void keepRunning(() => {
        agent = startPart({ program: 'agent.ts', env: envWith(null) });
        return agent;
      });
    const ownPorts = sockets ? [] : listPorts(config).map(({ port }) => port);
    const through = serverUser
      ? asServerUser(serverUser, { ports: ownPorts, group: gitUser?.gid ?? null })
      : [];
    const onAsk = (what: SupervisorRequest) => answer(what, database);
    gate.start = () => startPart({ program: 'gate.ts', env: envWith(null), through, onAsk });
    workers = createWorkers({
      count,
      isShared: sockets !== null,
      start: (worker) => {
        const part: Part = startPart({
          program: 'main.ts',
          env: envWith({ ...worker, count: requested.count }),
          through,
          descriptors: sockets?.descriptors,
          onAsk,
          onMessage: (message) => receive(part, message),
        });
        return part;
      },
      onFailed: stopping.resolve,
      onExit: metrics.onExit,
      log,
    });
    opened = await database;
    void opened.exited.then(() => {
      log.error('PostgreSQL exited unexpectedly; stopping, so that a restart can repair it');
      stopping.resolve(1);
    });
    if (raw?.exists()) raw.url().catch(() => {});
    return stopping.promise;
  }

  async function answer(request: SupervisorRequest, database: Promise<Database>): Promise<unknown> {
    switch (request) {
      case 'rawDatabase':
        return raw?.url();
      case 'rawGate':
        return gate.port();
      case 'gitSocket':
        return git?.socket();
      case 'localSecret':
        return localSecret;
      case 'metrics':
        return metrics.read();
      case 'database': {
        const { kind, controlUrl, rowsUrl, adminUrl } = await database;
        return { kind, controlUrl, rowsUrl, adminUrl };
      }
    }
  }

  function receive(part: Part, message: ServerMessage): void {
    if ('metrics' in message) metrics.onLast(part, message.metrics);
    else if ('logins' in message) gate.setLogins(message.logins);
    else if ('counts' in message)
      for (const other of workers?.list() ?? []) if (other.part !== part) other.part.send(message);
  }

  function replaceWorkers(): void {
    try {
      const { env: next, ignored } = retainFixed(env, readEnvironment());
      readConfig(next);
      env = next;
      if (ignored.length > 0)
        log.warn({ variables: ignored }, 'changes of these variables need a restart and are ignored');
    } catch (error) {
      log.error({ err: error }, 'the workers were not replaced, because the configuration is wrong');
      return;
    }
    workers?.roll();
  }

  async function keepRunning(start: () => Part): Promise<void> {
    let waitMs = restartMs.first;
    let wasReady = false;
    while (!isStopping) {
      const startedAt = performance.now();
      const { code, ready } = await start().exited;
      wasReady ||= ready;
      if (isStopping) return;
      if (!wasReady) return stopping.resolve(code || 1);
      waitMs =
        performance.now() - startedAt > steadyMs ? restartMs.first : Math.min(waitMs * 2, restartMs.max);
      log.error({ code, restart_in_ms: waitMs }, 'the agent ended unexpectedly');
      await Bun.sleep(waitMs);
    }
  }

  /** All workers have this file together. Another server may have written it since. */
  function closeLocalLogin(): void {
    const file = join(config.dataDir, localLoginFile);
    if (existsSync(file) && readFileSync(file, 'utf8').includes(localSecret)) rmSync(file, { force: true });
  }

  async function end(code: number): Promise<void> {
    isStopping = true;
    sockets?.close();
    await workers?.stop();
    closeLocalLogin();
    await gate.stop();
    await git?.stop(graceMs);
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
    replaceWorkers,
    stop: () => stopping.resolve(0),
    stopNow() {
      isStopping = true;
      workers?.kill();
      gate.kill();
      git?.kill();
      agent?.kill();
      raw?.stopNow();
      opened?.stopNow();
      ended.resolve(130);
    },
  };
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
