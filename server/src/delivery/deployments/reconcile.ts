import { CompiledQuery } from 'kysely';
import { notifySql } from '../../core/invalidation.ts';
import { createWakeLoop, type LeasedWorker } from '../../core/jobs.ts';
import { appTag } from '../../core/tags.ts';
import type { InstanceState } from '../../drivers/runtime/runtime.ts';
import { type Draining, isDrained, restoreAddress } from './check-health.ts';
import type { Instances } from './instances.ts';
import {
  claimMissingInstance,
  clearAddress,
  confirmInstances,
  databaseTime,
  deleteInstanceRow,
  deleteLostInstances,
  drainObsoleteInstances,
  hasAnythingToRun,
  type InstanceRow,
  insertInstanceRow,
  listMissingInstances,
  listMissingReviews,
  listNodeInstances,
  type MissingInstance,
  putToSleep,
  saveReady,
} from './instances-store.ts';
import { type DeploymentDeps, releaseMsMax } from './rules.ts';
import { findDeploymentRow } from './store.ts';

export interface ReconcileOptions {
  inFlight: (address: string) => number;
  processes: Draining['processes'];
  sample: () => Promise<void>;
}

const intervalMs = 2_000;
const idleMs = 15_000;
const confirmEveryMs = 5_000;
const orphansEveryMs = 10_000;
const sleepEveryMs = 5_000;
const sampleEveryMs = 10_000;
const concurrentStartsMax = 4;
/** A start that takes longer no longer counts towards the limit. */
const startMsMax = 20_000;
/** A round this late was delayed by the database, as were those of the other servers. */
export const lateMs = 5_000;
/** After a late round, no instance counts as lost until all servers have confirmed theirs. */
const confirmMs = 10_000;
const backOffMs = { first: 5_000, max: 60_000 };

export function createReconciler(
  deps: Pick<DeploymentDeps, 'db' | 'log' | 'runtime'> & ReconcileOptions,
  instances: Instances,
): LeasedWorker {
  const { db, log, runtime } = deps;
  const stopping = new AbortController();
  const tasks = new Map<string, Promise<void>>();
  const starts = new Map<string, number>();
  const backOff = new Map<string, { until: number; ms: number }>();
  const last = {
    confirmed: Number.NEGATIVE_INFINITY,
    orphans: Number.NEGATIVE_INFINITY,
    sampled: Number.NEGATIVE_INFINITY,
    slept: Number.NEGATIVE_INFINITY,
  };
  const loop = createWakeLoop(reconcile);
  let dueAt = Number.POSITIVE_INFINITY;
  let confirmedFrom = Number.NEGATIVE_INFINITY;

  async function reconcile(): Promise<number> {
    try {
      const nextMs = await reconcileOnce();
      dueAt = performance.now() + nextMs;
      return nextMs;
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ err: error }, 'reconcile failed');
      return intervalMs;
    }
  }

  async function reconcileOnce(): Promise<number> {
    if (isDue('slept', sleepEveryMs)) await sleep();
    for (const appId of await drainObsoleteInstances(db, runtime.node)) await invalidateApp(appId);
    // Statements decide by this time what is lost, even if the database stops and executes it a minute later.
    const asOf = await databaseTime(db);
    const now = performance.now();
    const rows = await listNodeInstances(db, runtime.node);
    if (now - dueAt > lateMs) confirmedFrom = now + confirmMs;
    const isConfirmed = now > confirmedFrom;
    if (isDue('confirmed', isConfirmed ? confirmEveryMs : 0)) await confirm(rows);
    if (isDue('orphans', orphansEveryMs)) await stopOrphans();
    if (isDue('sampled', sampleEveryMs)) background('sample', deps.sample);
    for (const row of rows) if (row.state === 'draining') drain(row);
    if (!isConfirmed) return intervalMs;
    await deleteLostInstances(db, asOf);
    for (const missing of await listMissingInstances(db, runtime.kind, asOf)) startMissing(missing);
    for (const missing of await listMissingReviews(db, runtime.kind, asOf)) startMissing(missing);
    return (await hasAnythingToRun(db)) ? intervalMs : idleMs;
  }

  function isDue(what: keyof typeof last, everyMs: number): boolean {
    const now = performance.now();
    if (now - last[what] < everyMs) return false;
    last[what] = now;
    return true;
  }

  async function sleep(): Promise<void> {
    for (const appId of await putToSleep(db)) {
      log.info({ app: appId }, 'app fell asleep');
      await invalidateApp(appId);
    }
  }

  async function confirm(rows: readonly InstanceRow[]): Promise<void> {
    const seen: { id: string; restarts: number }[] = [];
    for (const row of rows) {
      // The start confirms it. Without one the row stays unconfirmed, and the instance is replaced.
      if (row.state === 'starting' && !instances.isStarting(row.id)) continue;
      const now = await runtime.getState({ instanceId: row.id, handle: row.handle ?? {} });
      if (now.state === 'running') await instances.resumeLog(row);
      if (row.state === 'ready' && row.process === 'web') await updateRouting(row, now);
      if (now.state === 'running' || now.state === 'restarting' || instances.isStarting(row.id))
        seen.push({ id: row.id, restarts: now.state === 'gone' ? 0 : now.restarts });
      // In the background: an instance that does not stop must not delay the others.
      else background(row.id, () => replace(row, now.state === 'gone' ? 'is gone' : now.detail));
    }
    await instances.closeLogsExcept(rows);
    await confirmInstances(db, runtime.node, seen);
  }

  async function updateRouting(row: InstanceRow, now: InstanceState): Promise<void> {
    const isSteady =
      now.state === 'running' &&
      now.restarts === row.restarts &&
      (row.address === null || (now.address ?? row.address) === row.address);
    if (row.address !== null && !isSteady) {
      await clearAddress(db, row.id);
      await invalidateApp(row.app_id);
    }
    if (now.state === 'running' && (row.address === null || !isSteady))
      background(`route ${row.id}`, async () => {
        if (await restoreAddress(deps, row, stopping.signal)) await invalidateApp(row.app_id);
      });
  }

  async function replace(row: InstanceRow, reason: string): Promise<void> {
    log.info({ app: row.app_id, instance: row.id, reason }, 'instance replaced');
    await instances.stop(row);
    await deleteInstanceRow(db, row.id);
    await invalidateApp(row.app_id);
  }

  /** Instances are listed before rows are read, because a row is written before its instance starts. */
  async function stopOrphans(): Promise<void> {
    const running = await runtime.list();
    const known = new Set((await listNodeInstances(db, runtime.node)).map(({ id }) => id));
    for (const instance of running)
      if (!known.has(instance.instanceId))
        background(instance.instanceId, () => instances.stopOrphan(instance));
  }

  function drain(row: InstanceRow): void {
    const inFlight = row.address === null ? 0 : deps.inFlight(row.address);
    if (isDrained(row, { now: new Date(), inFlight, processes: deps.processes }))
      background(row.id, () => instances.stop(row));
  }

  function startMissing(missing: MissingInstance): void {
    const key = `${missing.deploymentId} ${missing.process} ${missing.index}`;
    const wait = backOff.get(key);
    if (wait && performance.now() < wait.until) return;
    const now = performance.now();
    if ([...starts.values()].filter((at) => now - at < startMsMax).length >= concurrentStartsMax) return;
    if (!starts.has(key)) starts.set(key, now);
    background(`start ${key}`, () => start(missing, key).finally(() => starts.delete(key)));
  }

  async function start(missing: MissingInstance, key: string): Promise<void> {
    const { appId, process, index } = missing;
    const row = await findDeploymentRow(db, missing, missing.deploymentId);
    if (!row) return;
    const id = await claim(missing);
    if (id === null) return;
    try {
      const late = AbortSignal.timeout(releaseMsMax(row));
      await instances.start([{ id, process, index }], row, AbortSignal.any([stopping.signal, late]));
      // False if the app was suspended or replaced meanwhile.
      if (await saveReady(db, id)) await invalidateApp(appId);
    } catch (error) {
      if (stopping.signal.aborted) return;
      const ms = Math.min((backOff.get(key)?.ms ?? backOffMs.first / 2) * 2, backOffMs.max);
      backOff.set(key, { until: performance.now() + ms, ms });
      log.warn({ err: error, app: appId, process, index, retry_in_ms: ms }, 'start of an app failed');
      return;
    }
    backOff.delete(key);
    loop.wake();
  }

  async function claim(missing: MissingInstance): Promise<string | null> {
    const { tenantId, appId, deploymentId, process, index } = missing;
    const id = Bun.randomUUIDv7();
    const isClaimed = await db.transaction().execute(async (tx) => {
      if (!(await claimMissingInstance(tx, missing))) return false;
      await insertInstanceRow(tx, {
        id,
        tenant_id: tenantId,
        app_id: appId,
        deployment_id: deploymentId,
        node: runtime.node,
        process,
        index,
      });
      return true;
    });
    return isClaimed ? id : null;
  }

  function background(key: string, act: () => Promise<void>): void {
    if (tasks.has(key) || stopping.signal.aborted) return;
    const task = act()
      .catch((error: unknown) => log.warn({ err: error, task: key }, 'reconcile task failed'))
      .finally(() => tasks.delete(key));
    tasks.set(key, task);
  }

  async function invalidateApp(appId: string): Promise<void> {
    await db.executeQuery(CompiledQuery.raw(notifySql, [appTag(appId)]));
  }

  return {
    start() {
      runtime.onStateChange?.(() => {
        last.confirmed = Number.NEGATIVE_INFINITY;
        loop.wake();
      });
      loop.wake();
    },
    wake() {
      // A deleted row leaves an orphan, which is stopped at once.
      last.orphans = Number.NEGATIVE_INFINITY;
      loop.wake();
    },
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      await loop.stop();
      await Promise.allSettled([...tasks.values()]);
    },
  };
}
