import { latencyBoundsMs, type metricsRanges, metricsSeconds } from '@svc/contract/app-metrics.ts';
import type { AppCtx } from '../../core/context.ts';
import { addCounts, type Counts, emptyCounts } from './app-metrics.ts';
import { listMinutes } from './store.ts';

/** One point for each step of the range, also without requests. */
export async function getAppMetrics(ctx: AppCtx, { range }: { range: (typeof metricsRanges)[number] }) {
  const { range: seconds, step } = metricsSeconds[range];
  const stepMs = step * 1000;
  const to = (Math.floor(ctx.now.getTime() / stepMs) + 1) * stepMs;
  const from = to - seconds * 1000;
  const rows = await listMinutes(ctx.db, {
    tenantId: ctx.tenant.id,
    appId: ctx.app.id,
    from: new Date(from),
  });
  const points = Array.from({ length: seconds / step }, emptyCounts);
  const total = emptyCounts();
  for (const row of rows) {
    const point = points[Math.floor((row.minute.getTime() - from) / stepMs)];
    if (point) addCounts(point, row);
    addCounts(total, row);
  }
  return {
    range,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    step_seconds: step,
    total: toFigures(total),
    points: points.map((counts, at) => ({
      at: new Date(from + at * stepMs).toISOString(),
      ...toFigures(counts),
    })),
  };
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
