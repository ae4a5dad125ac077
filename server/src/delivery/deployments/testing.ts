import { afterAll, afterEach, beforeAll } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import type { AppMutationCtx } from '../../core/context.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { fixedKey } from '../../core/keys.ts';
import { rawDatabasesAt } from '../../data/raw-databases/testing.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { readBaseEnvironment } from '../../drivers/runtime/process/environment.ts';
import { createProcessRuntime } from '../../drivers/runtime/process/process-runtime.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { testOrigin } from '../../identity/provider/testing.ts';
import {
  newTenant,
  newUser,
  silentLog,
  type TestDatabase,
  testDatabase,
  testDeps,
  testMutation,
} from '../../testing.ts';
import { planSource } from '../detect/plan-source.ts';
import { createLogSink } from '../logs/log-sink.ts';
import { until } from '../testing.ts';
import { deploymentEnvironment } from './build-deployment.ts';
import { deploymentSites } from './go-live.ts';
import { findLiveInstances } from './instances-store.ts';
import { startDeployments } from './open-deployments.ts';
import { queueDeployment } from './queue-deployment.ts';
import type { DeploymentDeps } from './rules.ts';
import { type DeploymentRow, findDeploymentRow, findLiveDeploymentRow, listDeploymentRows } from './store.ts';

export const testUrls = {
  baseUrl: testOrigin,
  appsDomain: 'apps.example.test',
  runtime: { kind: 'process' as const },
  findLiveDeployment: findLiveDeploymentRow,
};

/** Where a test can halt a server; the server continues when the function returns. */
export type Phase = 'fetch' | 'build' | 'built' | 'start' | 'started';
export type Halts = Partial<Record<Phase, (deploymentId: string, signal?: AbortSignal) => Promise<void>>>;

export type DeploymentServer = Awaited<ReturnType<typeof startServer>>;
export type DeployWorld = Awaited<ReturnType<typeof newWorld>>;

/** A database with one server for all tests of the file, or with those that each test starts. */
export function useDeployments({ servers: mode = 'one' }: { servers?: 'one' | 'per test' } = {}) {
  const [database, server] = [{} as TestDatabase, {} as DeploymentServer];
  const folder = mkdtempSync(join(tmpdir(), 'svc-deploy-'));
  // Apps run as other users and must pass through the folder.
  chmodSync(folder, 0o711);
  const halts: Halts = {};
  const servers = new Set<DeploymentServer>();
  const halted: (() => void)[] = [];
  const start = async (options: Partial<ServerOptions> = {}) => {
    const started = await startServer(database, { dataDir: folder, ...options });
    servers.add(started);
    return started;
  };
  const stop = (stopped: DeploymentServer) => {
    servers.delete(stopped);
    return stopped.stop();
  };
  const stopAll = async () => {
    for (const go of halted.splice(0)) go();
    await Promise.all([...servers].map(stop));
  };
  beforeAll(async () => {
    Object.assign(database, await testDatabase());
    if (mode === 'one') Object.assign(server, await start({ halts }));
  });
  if (mode === 'per test') afterEach(stopAll);
  afterAll(async () => {
    await stopAll();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    database,
    server,
    folder,
    halts,
    start,
    stop,
    newWorld: (method?: DeploymentRow['method']) => newWorld(database, method),
    halt: (...args: Parameters<typeof haltAt>) => {
      const stuck = haltAt(...args);
      halted.push(stuck.go);
      return stuck;
    },
    nodeApp: (text: string, files?: Record<string, string>) => nodeApp(folder, text, files),
  };
}

type ServerOptions = { dataDir: string; halts?: Halts } & Partial<
  Pick<DeploymentDeps, 'concurrencyMax' | 'releaseMsMax'>
>;

/** Runs real processes. `ref` of a deployment is the folder of its source. */
async function startServer(
  { db, url }: TestDatabase,
  { dataDir, halts = {}, concurrencyMax = { builds: 2, all: 10 }, releaseMsMax }: ServerOptions,
) {
  const runtime = await createProcessRuntime({
    dataDir,
    log: silentLog,
    controlGroups: 'none',
    isolation: { use: 'preferred', egress: 'public', gatewayPort: null },
    baseEnvironment: readBaseEnvironment(process.env),
    times: { closeGraceMs: 500, restartMsMin: 50 },
  });
  const base = { db, ...testDeps };
  const objects = openFileStore(join(dataDir, 'objects'));
  const deps: DeploymentDeps = {
    ...base,
    workDir: join(dataDir, 'runtime', 'work'),
    concurrencyMax,
    releaseMsMax,
    runtime: haltingRuntime(runtime, halts),
    toolchains: null,
    builds: null,
    logs: createLogSink({ db, log: silentLog }),
    environment: deploymentEnvironment(db, { ...testUrls, rawDatabases: rawDatabasesAt({ url }) }),
    sites: deploymentSites({ ...base, ...testUrls, urlKey: fixedKey('a key for tests'), objects }),
    source: {
      plan: planSource,
      async fetch({ row, into, signal }) {
        await halts.fetch?.(row.id, signal);
        cpSync(row.ref ?? '', into, { recursive: true });
        return { commit_sha: 'c'.repeat(40), commit_message: 'A change' };
      },
    },
  };
  const changes = listenForChanges({ url, log: silentLog });
  const options = {
    invalidation: changes,
    inFlight: () => 0,
    processes: 'one',
    sample: async () => {},
  } as const;
  const open = startDeployments(deps, options);
  await changes.start();
  return {
    runtime,
    deps,
    async stop() {
      await changes.stop();
      await open.stop();
      await runtime.close();
    },
  };
}

function haltingRuntime(runtime: Runtime, halts: Halts): Runtime {
  return {
    ...runtime,
    async build(job) {
      await halts.build?.(job.deploymentId, job.signal);
      const built = await runtime.build(job);
      await halts.built?.(job.deploymentId, job.signal);
      return built;
    },
    async start(job) {
      await halts.start?.(job.deploymentId);
      const started = await runtime.start(job);
      await halts.started?.(job.deploymentId);
      return started;
    },
  };
}

export async function newWorld({ db, rows }: TestDatabase, method: DeploymentRow['method'] = 'docker') {
  const { tenant } = await newTenant(db);
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner);
  await sql`update svc.apps set deploy_method = ${method} where id = ${app.id}`.execute(db);
  const appRef = { tenantId: tenant.id, appId: app.id };
  const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const row = async (id: string) => {
    const found = await findDeploymentRow(db, appRef, id);
    if (!found) throw new Error(`No deployment ${id}.`);
    return found;
  };
  const mutate = async <T>(useCase: (ctx: AppMutationCtx) => Promise<T>) =>
    (await testMutation<T, typeof context>(db, owner, useCase, { context, rows })).value;
  const queue = (source: string, { isPush = false } = {}) =>
    mutate((ctx) =>
      queueDeployment(ctx, {
        ...appRef,
        trigger: isPush ? 'push' : 'person',
        source: 'repository',
        ref: source,
        createdBy: isPush ? null : owner.userId,
      }),
    );
  const reaches = (id: string, ...states: DeploymentRow['state'][]) =>
    until(
      () => row(id),
      ({ state }) => states.includes(state),
    );
  return {
    tenant,
    owner,
    app,
    appRef,
    context,
    row,
    mutate,
    reaches,
    deploy: queue,
    live: async (source: string, options?: { isPush: boolean }) =>
      reaches((await queue(source, options)).id, 'live', 'failed'),
    rows: async () => (await listDeploymentRows(db, appRef, { window: { limit: 200, offset: 0 } })).rows,
    /** The app's response; null if no instance serves it. */
    async responseText(path = '/') {
      const address = (await findLiveInstances(db, app.id))?.addresses[0];
      return address ? (await fetch(`http://${address}${path}`)).text() : null;
    },
    instances: async (...servers: readonly Pick<DeploymentServer, 'runtime'>[]) =>
      (await Promise.all(servers.map(({ runtime }) => runtime.list())))
        .flat()
        .filter(({ appId }) => appId === app.id),
  };
}

/** An app that responds with the text, and with its variables at `/env`. `.cjs` works below any package.json. */
function nodeApp(folder: string, text: string, files: Record<string, string> = {}): string {
  const dir = join(folder, Bun.randomUUIDv7());
  mkdirSync(dir, { recursive: true });
  const server = `require('http').createServer((request, response) => {
    if (request.url === '/env') return response.end(JSON.stringify(process.env));
    if (request.url === '/end') process.exit(1);
    response.end(${JSON.stringify(text)});
  }).listen(process.env.PORT);`;
  // Without a package.json nothing is installed, which would be slow.
  const all = { 'svc.yaml': 'start: node server.cjs\n', 'server.cjs': server, ...files };
  for (const [name, content] of Object.entries(all)) writeFileSync(join(dir, name), content);
  return dir;
}

/** As if the server that works on the deployment had died. */
export async function dropLease({ db }: TestDatabase, id: string): Promise<void> {
  await sql`update svc.deployments set lease_until = now() - interval '1 second', lease_holder = gen_random_uuid()
    where id = ${id}`.execute(db);
}

/** Halts deployments of the app at a phase until `go` is called. */
export function haltAt(
  halts: Halts,
  phase: Phase,
  { rows }: Pick<DeployWorld, 'rows'>,
  { onAbort = 'ends' }: { onAbort?: 'ends' | 'hangs' } = {},
): { reached: Promise<string>; go: () => void } {
  const [reached, going] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  const others = halts[phase];
  halts[phase] = async (id, signal) => {
    if (!(await rows()).some((row) => row.id === id)) return others?.(id, signal);
    reached.resolve(id);
    const aborted = Promise.withResolvers<void>();
    if (onAbort === 'ends') signal?.addEventListener('abort', () => aborted.reject(signal.reason));
    await Promise.race([going.promise, aborted.promise]);
  };
  const go = () => {
    halts[phase] = others;
    going.resolve();
  };
  return { reached: reached.promise, go };
}
