import type { AppMetrics } from '@svc/contract/app-metrics.shapes.ts';
import { type metricsRanges, metricsSeconds } from '@svc/contract/app-metrics.ts';
import type { z } from 'zod';
import type { AppCtx } from '../plumbing/context.ts';
import { add, type Counts, noCounts } from './create-app-metrics.ts';
import { percentile } from './percentile.ts';
import { listMinutes } from './store.ts';

/** A point for each step of the range, also where nothing was asked. */
export async function getAppMetrics(
  ctx: AppCtx,
  { range }: { range: (typeof metricsRanges)[number] },
): Promise<z.output<typeof AppMetrics>> {
  const { range: seconds, step } = metricsSeconds[range];
  const stepMs = step * 1000;
  const to = (Math.floor(ctx.now.getTime() / stepMs) + 1) * stepMs;
  const from = to - seconds * 1000;
  const rows = await listMinutes(ctx.db, {
    tenantId: ctx.tenant.id,
    appId: ctx.app.id,
    from: new Date(from),
  });
  const points = Array.from({ length: seconds / step }, noCounts);
  const total = noCounts();
  for (const row of rows) {
    const point = points[Math.floor((row.minute.getTime() - from) / stepMs)];
    if (point) add(point, row);
    add(total, row);
  }
  return {
    range,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    step_seconds: step,
    total: figuresOf(total),
    points: points.map((counts, at) => ({
      at: new Date(from + at * stepMs).toISOString(),
      ...figuresOf(counts),
    })),
  };
}

function figuresOf(counts: Counts) {
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
