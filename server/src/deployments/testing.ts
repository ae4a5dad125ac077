import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { newApp } from '../apps/testing.ts';
import { planSource } from '../detect/plan-source.ts';
import { openFileStore } from '../drivers/object-store/file-store.ts';
import { createProcessRuntime } from '../drivers/runtime/process/process-runtime.ts';
import { surroundingsOf } from '../drivers/runtime/process/surroundings-of.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import { testOrigin } from '../identity/testing.ts';
import { createLogSink } from '../logs/log-sink.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testMutation } from '../testing.ts';
import type { DeploymentParts } from './deployment-parts.ts';
import { environmentOfApp } from './environment-of-app.ts';
import { liveInstancesOf } from './live-instances.ts';
import { startDeployments } from './open-deployments.ts';
import { queueDeployment } from './queue-deployment.ts';
import { sitesOfDeployments } from './sites-of-deployments.ts';
import { type DeploymentRow, findDeploymentRow, listDeploymentRows } from './store.ts';

export const testPlaces = {
  ...{ baseUrl: testOrigin, appsDomain: 'apps.example.test' },
  runtime: { kind: 'process' as const },
};

/** Where a test stops a copy in its tracks: it is told of the deployment, and goes on when it is answered. */
export type Phase = 'fetch' | 'build' | 'built' | 'start' | 'started';
export type Halts = Partial<Record<Phase, (deploymentId: string, signal?: AbortSignal) => Promise<void>>>;

export interface DeployingCopy {
  runtime: Runtime;
  parts: DeploymentParts;
  stop(): Promise<void>;
}

/** A folder of the test's own, which apps that are other users may pass through. */
export function passableFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-deploy-'));
  chmodSync(folder, 0o711);
  return folder;
}

/** One copy of the server that carries deployments out, with real processes. `ref` of a deployment is the folder of its source. */
export async function deployingCopy(
  { db, url }: TestDatabase,
  {
    dataDir,
    halts = {},
    atOnceMax = { builds: 2, all: 10 },
    releaseMsMax,
  }: { dataDir: string; halts?: Halts } & Partial<Pick<DeploymentParts, 'atOnceMax' | 'releaseMsMax'>>,
): Promise<DeployingCopy> {
  const runtime = await createProcessRuntime({
    ...{ dataDir, log: silentLog, controlGroups: 'none', surroundings: surroundingsOf(process.env) },
    times: { closeGraceMs: 500, restartMsMin: 50 },
  });
  const workDir = join(dataDir, 'runtime', 'work');
  const parts: DeploymentParts = {
    ...{ db, outbox: rowsOnly, log: silentLog, workDir, atOnceMax },
    ...(releaseMsMax && { releaseMsMax }),
    runtime: haltingRuntime(runtime, halts),
    logs: createLogSink({ db, log: silentLog }),
    environment: environmentOfApp(db, testPlaces),
    sites: sitesOfDeployments({
      ...{ db, outbox: rowsOnly, log: silentLog, ...testPlaces, urlKey: 'a key for tests' },
      objects: openFileStore(join(dataDir, 'objects')),
    }),
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
  const open = startDeployments(parts, {
    ...{ invalidation: changes, underWay: () => 0, copies: 'one', sample: async () => {} },
  });
  await changes.start();
  return {
    ...{ runtime, parts },
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

export interface DeployWorld {
  tenant: TenantAccess;
  owner: Caller;
  app: AppAccess;
  place: { tenantId: string; appId: string };
  deploy(source: string): Promise<DeploymentRow>;
  row(id: string): Promise<DeploymentRow>;
  rows(): Promise<DeploymentRow[]>;
  /** Until a deployment is where it is expected; told where it got stuck. */
  reaches(id: string, ...states: DeploymentRow['state'][]): Promise<DeploymentRow>;
  /** What the app answers to whoever is led to it; null: nobody is. */
  says(path?: string): Promise<string | null>;
}

export async function deployWorld(
  { db }: TestDatabase,
  { method = 'docker' }: { method?: DeploymentRow['method'] } = {},
): Promise<DeployWorld> {
  const { tenant } = await newTenant(db);
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner);
  await sql`update svc.apps set deploy_method = ${method} where id = ${app.id}`.execute(db);
  const place = { tenantId: tenant.id, appId: app.id };
  const row = async (id: string) => {
    const found = await findDeploymentRow(db, place, id);
    if (!found) throw new Error(`No deployment ${id}.`);
    return found;
  };
  return {
    ...{ tenant, owner, app, place, row },
    deploy: async (source) =>
      (
        await testMutation(
          db,
          owner,
          (ctx) =>
            queueDeployment(ctx, {
              ...{ ...place, trigger: 'person', source: 'repository', ref: source },
              createdBy: owner.userId,
            }),
          { context: { tenant } },
        )
      ).value,
    rows: async () => (await listDeploymentRows(db, place, { window: { limit: 200, offset: 0 } })).rows,
    async reaches(id, ...states) {
      return until(
        () => row(id),
        (found) => states.includes(found.state),
        (found) => `is ${found.state}, ${found.failure_code} at ${found.step}: ${found.failure_detail}`,
      );
    },
    async says(path = '/') {
      const address = (await liveInstancesOf(db, app.id))?.addresses[0];
      if (!address) return null;
      return (await fetch(`http://${address}${path}`)).text();
    },
  };
}

const patienceMs = 20_000;

/** Asks until the answer will do. */
export async function until<T>(
  ask: () => Promise<T>,
  isEnough: (value: T) => boolean,
  tell: (value: T) => string = (value) => JSON.stringify(value),
): Promise<T> {
  const begun = performance.now();
  // Less often after a while: to ask is work as well.
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const value = await ask();
    if (isEnough(value)) return value;
    if (performance.now() - begun > patienceMs) throw new Error(`Waited in vain: it ${tell(value)}.`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** An app that says which it is, and what it was given. `.cjs`: whatever package.json lies above it. */
export function nodeApp(folder: string, says: string, more: Record<string, string> = {}): string {
  const dir = join(folder, Bun.randomUUIDv7());
  mkdirSync(dir, { recursive: true });
  // Without a package.json nothing is installed, which would take longer than all the rest.
  writeFileSync(join(dir, 'svc.yaml'), 'start: node server.cjs\n');
  writeFileSync(
    join(dir, 'server.cjs'),
    `require('http').createServer((request, response) => {
      if (request.url === '/env') return response.end(JSON.stringify(process.env));
      if (request.url === '/end') process.exit(1);
      response.end(${JSON.stringify(says)});
    }).listen(process.env.PORT);`,
  );
  for (const [name, text] of Object.entries(more)) writeFileSync(join(dir, name), text);
  return dir;
}

/** As if the copy that works on it were dead: it renews nothing any more, and its lease has run out. */
export async function dropLease({ db }: TestDatabase, id: string): Promise<void> {
  await sql`update svc.deployments set lease_until = now() - interval '1 second', lease_holder = gen_random_uuid()
    where id = ${id}`.execute(db);
}

/** Stops what is done for this app at a phase, until it is let go on. */
export function haltAt(
  halts: Halts,
  phase: Phase,
  t: DeployWorld,
  { onAbort = 'ends' }: { onAbort?: 'ends' | 'hangs' } = {},
): { reached: Promise<string>; go: () => void } {
  const reached = Promise.withResolvers<string>();
  const going = Promise.withResolvers<void>();
  const others = halts[phase];
  halts[phase] = async (id, signal) => {
    if (!(await t.rows()).some((row) => row.id === id)) return others?.(id, signal);
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

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
