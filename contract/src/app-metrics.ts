import type * as shapes from './app-metrics.shapes.ts';
import { endpoint, who } from './endpoint.ts';

/** What each request to an app is counted under by the time it took to begin its answer; one more is above the last. */
export const latencyBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000] as const;
export const metricsKeptDays = 30;
export const metricsRanges = ['1h', '24h', '7d'] as const;
/** How long each range is, and each point in it. */
export const metricsSeconds: Readonly<
  Record<(typeof metricsRanges)[number], Readonly<{ range: number; step: number }>>
> = {
  '1h': { range: 3600, step: 60 },
  '24h': { range: 24 * 3600, step: 900 },
  '7d': { range: 7 * 24 * 3600, step: 3600 },
};

export const getAppMetrics = endpoint<typeof shapes.getAppMetrics>()({
  id: 'apps.metrics',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/apps/{app}/metrics',
  summary: 'Requests to an app, how long they took, and what it uses',
  kind: 'read',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'not_found', app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});
