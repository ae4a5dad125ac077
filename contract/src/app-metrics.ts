import type * as shapes from './app-metrics.shapes.ts';
import { ownersOrAdmin, read } from './endpoint.ts';

/** Upper bounds of the latency histogram, in milliseconds; the last bucket has no bound. */
export const latencyBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000] as const;
export const metricRetentionDays = 30;
export const metricsRanges = ['1h', '24h', '7d'] as const;
export const metricsSeconds: Readonly<
  Record<(typeof metricsRanges)[number], Readonly<{ range: number; step: number }>>
> = {
  '1h': { range: 3600, step: 60 },
  '24h': { range: 24 * 3600, step: 900 },
  '7d': { range: 7 * 24 * 3600, step: 3600 },
};

export const getAppMetrics = read<typeof shapes.getAppMetrics>()({
  id: 'apps.metrics',
  path: '/api/v1/tenants/{tenantID}/apps/{app}/metrics',
  summary: "Get an app's metrics: requests, response times and resource usage",
  ...ownersOrAdmin,
});
