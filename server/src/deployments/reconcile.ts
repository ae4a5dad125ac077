import { CompiledQuery } from 'kysely';
import type { InstanceState } from '../drivers/runtime/runtime.ts';
import { notifySql } from '../plumbing/invalidation.ts';
import { appTag } from '../tables/catalogue.ts';
import type { DeploymentParts } from './deployment-parts.ts';
import { type Draining, isDrained } from './drain.ts';
import type { Instances } from './instances.ts';
import {
  clearAddress,
  confirmInstances,
  deleteInstanceRow,
  drainUnwanted,
  forgetLostInstances,
  type InstanceRow,
  insertInstanceRow,
  isAnythingToRun,
  listInstancesAt,
  listUnserved,
  saveReady,
  takeOver,
  type Unserved,
} from './instances-store.ts';
import { leadBack } from './lead-back.ts';
import { releaseMsMax } from './rules.ts';
import { findDeploymentRow } from './store.ts';

export interface Reconciliation {
  start(): void;
  wake(): void;
  stop(): Promise<void>;
}

export interface ReconcilingOptions {
  underWay: (address: string) => number;
  copies: Draining['copies'];
  /** Called every ten seconds, so that what instances use can be noted. */
  sample: () => Promise<void>;
}

type Parts = Pick<DeploymentParts, 'db' | 'log' | 'runtime'>;

const lookEveryMs = 2_000;
/** Where nothing runs and nothing should, nothing changes by itself. */
const quietMs = 15_000;
const confirmEveryMs = 5_000;
const strayEveryMs = 10_000;
const sampleEveryMs = 10_000;
const startsAtOnceMax = 4;
/** One that is not well by then goes on, and others begin beside it. */
const startMsMax = 20_000;
/** One that can not be started is tried again after so long, and twice as long the next time. */
const backOffMs = { first: 5_000, max: 60_000 };

/** Makes what runs here follow the tables: after a start of the server, of the machine, and when an app ends by itself. */
export function createReconciliation(
  parts: Parts & ReconcilingOptions,
  instances: Instances,
): Reconciliation {
  const { db, log, runtime } = parts;
  const stopping = new AbortController();
  const doing = new Map<string, Promise<void>>();
  /** Of each app that is being brought back: since when. */
  const begun = new Map<string, number>();
  const backOff = new Map<string, { until: number; ms: number }>();
  const last = {
    confirmed: Number.NEGATIVE_INFINITY,
    strays: Number.NEGATIVE_INFINITY,
    sampled: Number.NEGATIVE_INFINITY,
  };
  let timer: Timer | undefined;
  let looking: Promise<unknown> | null = null;
  let isWoken = false;

  function wake(): void {
    if (stopping.signal.aborted) return;
    isWoken = true;
    clearTimeout(timer);
    looking ??= look().then((nextMs) => {
      looking = null;
      if (isWoken) wake();
      else if (!stopping.signal.aborted) timer = setTimeout(wake, nextMs);
    });
  }

  /** After how long to look again, if nobody wakes us before. */
  async function look(): Promise<number> {
    isWoken = false;
    try {
      for (const appId of await drainUnwanted(db, runtime.node)) await tell(appId);
      const rows = await listInstancesAt(db, runtime.node);
      if (isDue('confirmed', confirmEveryMs)) await confirm(rows);
      if (isDue('strays', strayEveryMs)) await endStrays();
      if (isDue('sampled', sampleEveryMs)) background('sample', parts.sample);
      for (const row of rows) if (row.state === 'draining') drain(row);
      for (const app of await listUnserved(db, runtime.kind)) serve(app);
      if (!(await isAnythingToRun(db))) return quietMs;
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ err: error }, 'could not see to what apps run');
    }
    return lookEveryMs;
  }

  function isDue(what: keyof typeof last, everyMs: number): boolean {
    const now = performance.now();
    if (now - last[what] < everyMs) return false;
    last[what] = now;
    return true;
  }

  async function confirm(rows: readonly InstanceRow[]): Promise<void> {
    const seen: { id: string; restarts: number }[] = [];
    for (const row of rows) {
      // Who starts it answers for it. One that nobody starts any more was never put in use: left unconfirmed, it is replaced.
      if (row.state === 'starting' && !instances.isStarting(row.id)) continue;
      const now = await runtime.look({ instanceId: row.id, handle: row.handle ?? {} });
      if (now.state === 'running') await instances.hear(row);
      if (row.state === 'ready') await lead(row, now);
      if (now.state === 'running' || now.state === 'restarting' || instances.isStarting(row.id))
        seen.push({ id: row.id, restarts: now.state === 'gone' ? 0 : now.restarts });
      // Beside this: one that does not end must not hold up all the others.
      else background(row.id, () => giveUp(row, now.state === 'gone' ? 'is gone' : now.detail));
    }
    await confirmInstances(db, runtime.node, seen);
    await forgetLostInstances(db);
  }

  /** To one that does not run nobody is led, at once; to one that does again, once it is well. */
  async function lead(row: InstanceRow, now: InstanceState): Promise<void> {
    const isSteady = now.state === 'running' && now.restarts === row.restarts;
    if (row.address !== null && !isSteady) {
      await clearAddress(db, row.id);
      await tell(row.app_id);
    }
    if (now.state === 'running' && (row.address === null || !isSteady))
      background(`lead ${row.id}`, async () => {
        if (await leadBack(parts, row, stopping.signal)) await tell(row.app_id);
      });
  }

  /** Whatever it was, the app gets another, if it should have one. */
  async function giveUp(row: InstanceRow, why: string): Promise<void> {
    log.info({ app: row.app_id, instance: row.id, why }, 'an instance of an app is given up');
    await instances.end(row);
    await deleteInstanceRow(db, row.id);
    await tell(row.app_id);
  }

  /** What is there comes before what should be there: a row is written before what it stands for is started. */
  async function endStrays(): Promise<void> {
    const there = await runtime.list();
    const known = new Set((await listInstancesAt(db, runtime.node)).map(({ id }) => id));
    for (const one of there) {
      if (!known.has(one.instanceId)) background(one.instanceId, () => instances.endStray(one));
    }
  }

  function drain(row: InstanceRow): void {
    const underWay = row.address === null ? 0 : parts.underWay(row.address);
    if (isDrained(row, { now: new Date(), underWay, copies: parts.copies }))
      background(row.id, () => instances.end(row));
  }

  function serve(app: Unserved): void {
    const wait = backOff.get(app.appId);
    if (wait && performance.now() < wait.until) return;
    const now = performance.now();
    if ([...begun.values()].filter((at) => now - at < startMsMax).length >= startsAtOnceMax) return;
    if (!begun.has(app.appId)) begun.set(app.appId, now);
    background(`serve ${app.appId}`, () => bringBack(app).finally(() => begun.delete(app.appId)));
  }

  async function bringBack(app: Unserved): Promise<void> {
    const row = await findDeploymentRow(db, app, app.deploymentId);
    if (!row) return;
    const id = await claim(app);
    if (id === null) return;
    try {
      const late = AbortSignal.timeout(releaseMsMax(row));
      await instances.bringUp(id, row, AbortSignal.any([stopping.signal, late]));
      // Suspended, or replaced, while it came up: it is not wanted any more, and has no row, or a draining one.
      if (await saveReady(db, id)) await tell(app.appId);
    } catch (error) {
      if (stopping.signal.aborted) return;
      const ms = Math.min((backOff.get(app.appId)?.ms ?? backOffMs.first / 2) * 2, backOffMs.max);
      backOff.set(app.appId, { until: performance.now() + ms, ms });
      log.warn({ err: error, app: app.appId, again_in_ms: ms }, 'an app could not be started again');
      return;
    }
    backOff.delete(app.appId);
    wake();
  }

  async function claim(app: Unserved): Promise<string | null> {
    const { tenantId, appId, deploymentId } = app;
    const id = Bun.randomUUIDv7();
    const isOurs = await db.transaction().execute(async (tx) => {
      if (!(await takeOver(tx, app))) return false;
      const row = { id, tenant_id: tenantId, app_id: appId, deployment_id: deploymentId, node: runtime.node };
      await insertInstanceRow(tx, row);
      return true;
    });
    return isOurs ? id : null;
  }

  function background(key: string, act: () => Promise<void>): void {
    if (doing.has(key) || stopping.signal.aborted) return;
    const under = act()
      .catch((error: unknown) => log.warn({ err: error, what: key }, 'could not see to what an app runs'))
      .finally(() => doing.delete(key));
    doing.set(key, under);
  }

  async function tell(appId: string): Promise<void> {
    await db.executeQuery(CompiledQuery.raw(notifySql, [appTag(appId)]));
  }

  return {
    start() {
      runtime.onTurn?.(() => {
        last.confirmed = Number.NEGATIVE_INFINITY;
        wake();
      });
      wake();
    },
    wake() {
      // Told of a change: what has no row any more ends now, and not at the next round.
      last.strays = Number.NEGATIVE_INFINITY;
      wake();
    },
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      clearTimeout(timer);
      await looking;
      await Promise.allSettled([...doing.values()]);
    },
  };
}
