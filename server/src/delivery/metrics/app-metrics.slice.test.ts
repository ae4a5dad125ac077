import { describe, expect, test } from 'bun:test';
import { latencyBoundsMs } from '@svc/contract/app-metrics.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import type { AppCtx } from '../../core/context.ts';
import { newTenant, silentLog, useTestDatabase } from '../../testing.ts';
import {
  createAppMetrics,
  createUsageSampler,
  deleteExpiredMetrics,
  getAppMetrics,
  percentile,
} from './app-metrics.ts';

const database = useTestDatabase();

async function openMetrics() {
  const { db } = database;
  const { tenant, member } = await newTenant(db);
  const app = await newApp(db, tenant, member);
  const now = new Date();
  const copy = () => createAppMetrics({ db, log: silentLog, now: () => now });
  const ctx = { db, now, tenant, app, caller: member } as unknown as AppCtx;
  const read = (range: '1h' | '24h' | '7d' = '1h', process?: string) =>
    getAppMetrics(ctx, { range, process });
  return { appId: app.id, copy, read, now };
}

describe('metrics of an app', () => {
  test('of several servers and flushes add up in the minute', async () => {
    const { appId, copy, read } = await openMetrics();
    const [one, two] = [copy(), copy()];
    one.note(appId, 200, 100, 3);
    one.note(appId, 404, 10, -1);
    two.note(appId, 502, 0, 20_000);
    one.noteUsage({ appId, process: 'web' }, { cpuMs: 30, memoryBytes: 500 });
    two.noteUsage({ appId, process: 'web' }, { cpuMs: 5, memoryBytes: 700 });
    await Promise.all([one.flush(), two.flush()]);
    one.note(appId, 301, 1, 40);
    await one.stop();
    const { total, points } = await read();
    expect(total).toMatchObject({
      requests: 4,
      by_status: { '2xx': 1, '3xx': 1, '4xx': 1, '5xx': 1 },
      bytes_out: 111,
      cpu_ms: 35,
      memory_bytes: 700,
    });
    expect(points.length).toBe(60);
    expect(points.at(-1)).toMatchObject({ requests: 4, p50_ms: total.p50_ms });
    expect(one.totals()).toEqual({ requests: 3, bytesOut: 111 });
  });

  test('of its processes add up, and are read for each', async () => {
    const { appId, copy, read } = await openMetrics();
    const one = copy();
    one.note(appId, 200, 100, 3);
    one.noteUsage({ appId, process: 'web' }, { cpuMs: 30, memoryBytes: 500 });
    one.noteUsage({ appId, process: 'worker' }, { cpuMs: 5, memoryBytes: 700 });
    await one.stop();
    const { total, processes } = await read();
    expect(total).toMatchObject({ requests: 1, cpu_ms: 35, memory_bytes: 1200 });
    expect(processes).toEqual([
      { process: 'web', cpu_ms: 30, memory_bytes: 500 },
      { process: 'worker', cpu_ms: 5, memory_bytes: 700 },
    ]);
    expect((await read('1h', 'worker')).total).toMatchObject({ requests: 0, cpu_ms: 5, memory_bytes: 700 });
  });

  test('belong to the minute in which they were counted, and stopping waits for writes', async () => {
    const { appId, read, now } = await openMetrics();
    let minutesAgo = 2;
    const at = () => new Date(now.getTime() - minutesAgo * 60_000);
    const metrics = createAppMetrics({ db: database.db, log: silentLog, now: at });
    metrics.note(appId, 200, 1, 1);
    minutesAgo = 0;
    metrics.note(appId, 200, 1, 1);
    void metrics.flush();
    await metrics.stop();
    const { points } = await read();
    expect([points.at(-3)?.requests, points.at(-1)?.requests]).toEqual([1, 1]);
  });

  test('are in the point of their time, and not counted outside the range', async () => {
    const { appId, read, now } = await openMetrics();
    for (const minutes of [0, 90, 60 * 30, 60 * 24 * 8]) {
      await sql`insert into svc.app_metrics (app_id, minute, requests)
        values (${appId}, date_trunc('minute', ${now}::timestamptz) - make_interval(mins => ${minutes}), 1)`.execute(
        database.db,
      );
    }
    expect((await read('1h')).total.requests).toBe(1);
    expect((await read('24h')).total.requests).toBe(2);
    const week = await read('7d');
    expect(week.total.requests).toBe(3);
    expect(week.points.reduce((sum, { requests }) => sum + requests, 0)).toBe(3);
    await sql`update svc.app_metrics set minute = minute - interval '30 days'
      where app_id = ${appId} and minute < ${now}::timestamptz - interval '7 days'`.execute(database.db);
    await deleteExpiredMetrics(database.db);
    const { rows } = await sql`select 1 from svc.app_metrics where app_id = ${appId}`.execute(database.db);
    expect(rows.length).toBe(3);
  });

  test('of a deleted app are dropped without blocking others', async () => {
    const { appId, copy, read } = await openMetrics();
    const metrics = copy();
    metrics.note(Bun.randomUUIDv7(), 200, 1, 1);
    metrics.note(appId, 200, 1, 1);
    await metrics.flush();
    expect((await read()).total.requests).toBe(1);
  });
});

describe('a percentile', () => {
  const of = (counts: Record<number, number>) =>
    Array.from({ length: latencyBoundsMs.length + 1 }, (_, at) => counts[at] ?? 0);
  test.each([
    ['of nothing', {}, 0.5, null],
    ['in the middle of one place', { 1: 10 }, 0.5, 7.5],
    ['at the end of one place', { 1: 10 }, 1, 10],
    ['in the first place', { 0: 4 }, 0.5, 2.5],
    ['across places', { 0: 50, 4: 50 }, 0.75, 75],
    ['above the last bound', { 11: 3 }, 0.99, 10_000],
  ] as const)('%s', (_name, counts, part, expected) => {
    expect(percentile(of(counts), part)).toBe(expected);
  });
});

describe('usage of instances', () => {
  /** Instances of an app at a node of their own, and servers that measure them. */
  async function usedPlace(ids: readonly string[]) {
    const { db } = database;
    const { tenant, member } = await newTenant(db);
    const app = await newApp(db, tenant, member);
    const [node, deployment] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
    await sql`insert into svc.deployments (id, tenant_id, app_id, seq, state, kind, trigger, source, method, created_by, created_at)
      values (${deployment}, ${tenant.id}, ${app.id}, 1, 'live', 'deploy', 'person', 'upload', 'docker', ${member.userId}, now())`.execute(
      db,
    );
    for (const [at, id] of ids.entries()) {
      await sql`insert into svc.app_instances
          (id, tenant_id, app_id, deployment_id, index, node, handle, state, started_at, confirmed_at)
        values (${id}, ${tenant.id}, ${app.id}, ${deployment}, ${at + 1}, ${node}, '{}', 'ready', now(), now())`.execute(
        db,
      );
    }
    const used: Record<string, { cpuMs: number; memoryBytes: number } | 'fails' | null> = {};
    const noted: number[][] = [];
    const copy = () =>
      createUsageSampler({
        db,
        runtime: {
          node,
          usage: async ({ instanceId }) => {
            const found = used[instanceId] ?? null;
            if (found === 'fails') throw new Error('The node is not available.');
            return found;
          },
        },
        metrics: { noteUsage: (_app, usage) => void noted.push([usage.cpuMs, usage.memoryBytes]) },
      });
    const later = () =>
      sql`update svc.app_instances set sampled_at = sampled_at - interval '10 s' where node = ${node}`.execute(
        db,
      );
    return { used, noted, copy, later };
  }

  test('is recorded as the increase, and from 0 after a restart', async () => {
    const [one, two, gone] = [Bun.randomUUIDv7(), Bun.randomUUIDv7(), Bun.randomUUIDv7()];
    const { used, noted, copy, later } = await usedPlace([one, two, gone]);
    const sampler = copy();
    used[one] = { cpuMs: 100, memoryBytes: 10 };
    used[two] = { cpuMs: 50, memoryBytes: 20 };
    await sampler.sample();
    await later();
    used[one] = { cpuMs: 130, memoryBytes: 11 };
    used[two] = { cpuMs: 7, memoryBytes: 5 };
    await sampler.sample();
    expect(noted).toEqual([
      [150, 30],
      [37, 16],
    ]);
  });

  test('is counted once despite a restart, a failed sample and two servers', async () => {
    const id = Bun.randomUUIDv7();
    const { used, noted, copy, later } = await usedPlace([id]);
    used[id] = { cpuMs: 864_000, memoryBytes: 1 };
    const [first, second] = [copy(), copy()];
    await Promise.all([first.sample(), second.sample()]);
    await later();
    used[id] = 'fails';
    await first.sample();
    await later();
    used[id] = { cpuMs: 864_010, memoryBytes: 1 };
    await first.sample();
    await later();
    used[id] = { cpuMs: 864_030, memoryBytes: 1 };
    await copy().sample();
    expect(noted.map(([cpuMs]) => cpuMs)).toEqual([864_000, 10, 20]);
  });
});
