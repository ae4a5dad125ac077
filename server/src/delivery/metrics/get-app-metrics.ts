import { latencyBoundsMs, type metricsRanges, metricsSeconds } from '@svc/contract/app-metrics.ts';
import type { AppCtx } from '../../core/context.ts';
import { addCounts, type Counts, emptyCounts } from './app-metrics.ts';
import { listMinutes, type MinuteRow } from './store.ts';

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

/** Of the same minute: its processes use memory at the same time. */
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
