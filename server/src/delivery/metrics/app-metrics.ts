import {
  latencyBoundsMs,
  metricRetentionDays,
  type metricsRanges,
  metricsSeconds,
} from '@svc/contract/app-metrics.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { AppCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { addCpuTime, claimSamples } from '../deployments/work-store.ts';

export interface AppMetrics {
  /** `ms`: time to first byte, negative if not measured. */
  note(appId: string, status: number, bytes: number, ms: number): void;
  noteUsage(process: AppProcess, used: { cpuMs: number; memoryBytes: number }): void;
  totals(): { requests: number; bytesOut: number };
  start(): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

interface AppProcess {
  appId: string;
  process: string;
}

type Counts = Omit<MinuteRow, 'appId' | 'process' | 'minute'> & {
  byStatus: number[];
  latency: number[];
};

interface MinuteCounts extends AppProcess {
  minute: number;
  counts: Counts;
}

const flushEveryMs = 10_000;

export function createAppMetrics({ db, log, now }: { db: Db; log: Logger; now: () => Date }): AppMetrics {
  let counted = new Map<string, MinuteCounts>();
  let writing = Promise.resolve();
  const total = { requests: 0, bytesOut: 0 };
  let timer: Timer | undefined;

  function countsFor({ appId, process }: AppProcess, minute = minuteOf(now())): Counts {
    const key = `${appId} ${process} ${minute}`;
    let entry = counted.get(key);
    if (entry === undefined) {
      entry = { appId, process, minute, counts: emptyCounts() };
      counted.set(key, entry);
    }
    return entry.counts;
  }

  async function write(): Promise<void> {
    const batch = counted;
    counted = new Map();
    for (const { appId, process, minute, counts } of batch.values()) {
      await addMinute(db, { appId, process, minute: new Date(minute), ...counts }).catch((error: unknown) => {
        log.warn({ err: error, app: appId }, 'write of app metrics failed');
        if (counted.size < bufferedMinutesMax) addCounts(countsFor({ appId, process }, minute), counts);
      });
    }
  }

  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  return {
    note(appId, status, bytes, ms) {
      const counts = countsFor({ appId, process: 'web' });
      counts.requests++;
      counts.bytesOut += bytes;
      const at = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
      counts.byStatus[at] = (counts.byStatus[at] ?? 0) + 1;
      if (ms >= 0) {
        const bucket = latencyBucket(ms);
        counts.latency[bucket] = (counts.latency[bucket] ?? 0) + 1;
      }
      total.requests++;
      total.bytesOut += bytes;
    },
    noteUsage(process, { cpuMs, memoryBytes }) {
      const counts = countsFor(process);
      counts.cpuMs += Math.max(0, Math.round(cpuMs));
      counts.memoryBytes = Math.max(counts.memoryBytes, Math.round(memoryBytes));
    },
    totals: () => total,
    start() {
      timer = setInterval(() => void flush(), flushEveryMs);
      timer.unref();
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

const bufferedMinutesMax = 10_000;
const minuteOf = (at: Date) => Math.floor(at.getTime() / 60_000) * 60_000;

function emptyCounts(): Counts {
  return {
    requests: 0,
    byStatus: [0, 0, 0, 0],
    latency: Array.from({ length: latencyBoundsMs.length + 1 }, () => 0),
    bytesOut: 0,
    cpuMs: 0,
    memoryBytes: 0,
  };
}

function addCounts(to: Counts, more: Omit<MinuteRow, 'appId' | 'process' | 'minute'>): void {
  to.requests += more.requests;
  to.bytesOut += more.bytesOut;
  to.cpuMs += more.cpuMs;
  to.memoryBytes = Math.max(to.memoryBytes, more.memoryBytes);
  for (const [at, count] of more.byStatus.entries()) to.byStatus[at] = (to.byStatus[at] ?? 0) + count;
  for (const [at, count] of more.latency.entries()) to.latency[at] = (to.latency[at] ?? 0) + count;
}

function latencyBucket(ms: number): number {
  const bucket = latencyBoundsMs.findIndex((bound) => ms <= bound);
  return bucket < 0 ? latencyBoundsMs.length : bucket;
}

/** Earlier samples are in the database: instances may outlive a server process, and several processes may see the same ones. */
export function createUsageSampler({
  db,
  runtime,
  metrics,
}: {
  db: Db;
  runtime: Pick<Runtime, 'usage' | 'node'>;
  metrics: Pick<AppMetrics, 'noteUsage'>;
}): { sample(): Promise<void> } {
  return {
    async sample() {
      const sums = new Map<string, AppProcess & { cpuMs: number; memoryBytes: number }>();
      for (const instance of await claimSamples(db, runtime.node)) {
        const used = await runtime.usage(instance).catch(() => null);
        const cpuMs = used && (await addCpuTime(db, instance, used));
        if (used === null || cpuMs === null) continue;
        const { appId, process } = instance;
        const key = `${appId} ${process}`;
        const sum = sums.get(key) ?? { appId, process, cpuMs: 0, memoryBytes: 0 };
        sum.cpuMs += cpuMs;
        sum.memoryBytes += used.memoryBytes;
        sums.set(key, sum);
      }
      for (const sum of sums.values()) metrics.noteUsage(sum, sum);
    },
  };
}

export async function deleteExpiredMetrics(db: Db): Promise<void> {
  await deleteOldMinutes(db, metricRetentionDays);
}

/** One point for each step of the range, also without requests. */
export async function getAppMetrics(
  ctx: AppCtx,
  { range, process }: { range: (typeof metricsRanges)[number]; process?: string | undefined },
) {
  const { range: seconds, step } = metricsSeconds[range];
  const stepMs = step * 1000;
  const to = (Math.floor(ctx.now.getTime() / stepMs) + 1) * stepMs;
  const from = to - seconds * 1000;
  const minutes = Map.groupBy(
    await listMinutes(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id, from: new Date(from) }),
    ({ minute }) => minute.getTime(),
  );
  const points = Array.from({ length: seconds / step }, emptyCounts);
  const total = emptyCounts();
  const byProcess = new Map<string, Counts>();
  for (const [minute, rows] of minutes) {
    const shown = sumProcesses(rows.filter((row) => process === undefined || row.process === process));
    const point = points[Math.floor((minute - from) / stepMs)];
    if (point) addCounts(point, shown);
    addCounts(total, shown);
    for (const row of rows) {
      const counts = byProcess.get(row.process) ?? emptyCounts();
      addCounts(counts, row);
      byProcess.set(row.process, counts);
    }
  }
  return {
    range,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    step_seconds: step,
    total: toFigures(total),
    processes: [...byProcess].map(([name, { cpuMs, memoryBytes }]) => ({
      process: name,
      cpu_ms: cpuMs,
      memory_bytes: memoryBytes,
    })),
    points: points.map((counts, at) => ({
      at: new Date(from + at * stepMs).toISOString(),
      ...toFigures(counts),
    })),
  };
}

/** Sums the rows of one minute: its processes use memory at the same time. */
function sumProcesses(rows: readonly Omit<MinuteRow, 'appId'>[]): Counts {
  const sum = emptyCounts();
  for (const row of rows) addCounts(sum, row);
  sum.memoryBytes = rows.reduce((bytes, row) => bytes + row.memoryBytes, 0);
  return sum;
}

function toFigures(counts: Counts) {
  const [ok = 0, elsewhere = 0, client = 0, server = 0] = counts.byStatus;
  return {
    requests: counts.requests,
    by_status: { '2xx': ok, '3xx': elsewhere, '4xx': client, '5xx': server },
    bytes_out: counts.bytesOut,
    p50_ms: percentile(counts.latency, 0.5),
    p95_ms: percentile(counts.latency, 0.95),
    p99_ms: percentile(counts.latency, 0.99),
    cpu_ms: counts.cpuMs,
    memory_bytes: counts.memoryBytes,
  };
}

/** Interpolated inside the histogram bucket; above the last bound, that bound. Null: no requests. */
export function percentile(latency: readonly number[], part: number): number | null {
  const total = latency.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = part * total;
  let before = 0;
  for (const [at, count] of latency.entries()) {
    if (count > 0 && before + count >= rank) {
      const low = at === 0 ? 0 : (latencyBoundsMs[at - 1] ?? 0);
      const high = latencyBoundsMs[at] ?? low;
      return Math.round((low + ((rank - before) / count) * (high - low)) * 10) / 10;
    }
    before += count;
  }
  return latencyBoundsMs.at(-1) ?? null;
}

interface MinuteRow {
  appId: string;
  process: string;
  minute: Date;
  requests: number;
  byStatus: readonly number[];
  latency: readonly number[];
  bytesOut: number;
  cpuMs: number;
  memoryBytes: number;
}

async function addMinute(db: Db, row: MinuteRow): Promise<void> {
  await sql`
    insert into svc.app_metrics as m
      (app_id, process, minute, requests, by_status, latency, bytes_out, cpu_ms, memory_bytes)
    select a.id, ${row.process}, ${row.minute}, ${row.requests}, ${[...row.byStatus]}::bigint[], ${[...row.latency]}::bigint[],
      ${row.bytesOut}, ${row.cpuMs}, ${row.memoryBytes}
    from svc.apps a where a.id = ${row.appId}
    on conflict (app_id, process, minute) do update set
      requests = m.requests + excluded.requests,
      by_status = (select array_agg(coalesce(b, 0) + coalesce(n, 0) order by at)
        from unnest(m.by_status, excluded.by_status) with ordinality as both_(b, n, at)),
      latency = (select array_agg(coalesce(b, 0) + coalesce(n, 0) order by at)
        from unnest(m.latency, excluded.latency) with ordinality as both_(b, n, at)),
      bytes_out = m.bytes_out + excluded.bytes_out,
      cpu_ms = m.cpu_ms + excluded.cpu_ms,
      memory_bytes = greatest(m.memory_bytes, excluded.memory_bytes)`.execute(db);
}

async function listMinutes(
  db: Db,
  { tenantId, appId, from }: { tenantId: string; appId: string; from: Date },
): Promise<Omit<MinuteRow, 'appId'>[]> {
  const { rows } = await sql<Omit<MinuteRow, 'appId'>>`
    select m.process, m.minute, m.requests::float8 as requests, m.by_status::float8[] as "byStatus",
      m.latency::float8[] as latency, m.bytes_out::float8 as "bytesOut", m.cpu_ms::float8 as "cpuMs",
      m.memory_bytes::float8 as "memoryBytes"
    from svc.app_metrics m
    join svc.apps a on a.id = m.app_id and a.tenant_id = ${tenantId}
    where m.app_id = ${appId} and m.minute >= ${from}
    order by m.minute, m.process`.execute(db);
  return rows;
}

async function deleteOldMinutes(db: Db, days: number): Promise<void> {
  await sql`delete from svc.app_metrics where minute < now() - make_interval(days => ${days})`.execute(db);
}
