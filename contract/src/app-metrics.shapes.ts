import { z } from 'zod';
import { metricsRanges } from './app-metrics.ts';
import { appParams } from './apps.shapes.ts';
import { processName } from './deployments.shapes.ts';
import { timestamp } from './shapes.ts';

const count = z.int().min(0);
const percentile = z.number().nullable();

const Figures = z.object({
  requests: count,
  by_status: z.object({ '2xx': count, '3xx': count, '4xx': count, '5xx': count }),
  bytes_out: count.meta({ description: 'Bytes of response bodies.' }),
  p50_ms: percentile.meta({
    description: 'Time to first byte of requests that the app answered.',
  }),
  p95_ms: percentile,
  p99_ms: percentile,
  cpu_ms: count.meta({ description: 'Processor time used.' }),
  memory_bytes: count.meta({ description: 'Peak.' }),
});

export const AppMetrics = z.object({
  range: z.enum(metricsRanges),
  from: timestamp,
  to: timestamp,
  step_seconds: z.int(),
  total: Figures,
  processes: z.array(z.object({ process: processName, cpu_ms: count, memory_bytes: count })).meta({
    description: 'What each process used in the range; memory is the peak of its instances together.',
  }),
  points: z.array(Figures.extend({ at: timestamp })).meta({ description: 'Oldest first.' }),
});

export const getAppMetrics = {
  params: appParams,
  query: z.strictObject({
    range: z.enum(metricsRanges).default('1h'),
    process: processName.optional().meta({ description: 'Only what this process did and used.' }),
  }),
  answer: AppMetrics,
};
