import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createDirectMetrics } from './direct-metrics.ts';
import { createRequestCounts } from './request-counts.ts';

export interface Metrics {
  requests: Counter<'route' | 'method' | 'status'>;
  seconds: Histogram<'route'>;
  inFlight: Gauge;
  /** Of the short way: counted in numbers of our own, since the library's labels cost as much as a cached look-up. */
  direct(method: string, status: number, seconds: number): void;
  /** Of sites: only counted. */
  site(method: string, status: number): void;
  /** Of all apps together; set by whoever counts them. */
  appTotals(read: () => { requests: number; bytesOut: number }): void;
  text(): Promise<string>;
  contentType: string;
}

/** How late the loop runs is asked so often. By itself it would be each 10 ms: half of what an idle server did. */
const lagEveryMs = 250;

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagEveryMs });
  const direct = createDirectMetrics();
  const sites = createRequestCounts({
    name: 'svc_site_requests_total',
    help: 'Requests to hosts of sites answered.',
  });
  let totals = () => ({ requests: 0, bytesOut: 0 });
  return {
    requests: new Counter({
      name: 'svc_http_requests_total',
      help: 'Requests answered, by route of the contract.',
      labelNames: ['route', 'method', 'status'],
      registers: [registry],
    }),
    seconds: new Histogram({
      name: 'svc_http_request_seconds',
      help: 'Time from the whole request head to the answer.',
      labelNames: ['route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
    inFlight: new Gauge({
      name: 'svc_http_requests_in_flight',
      help: 'Requests being worked on.',
      registers: [registry],
    }),
    direct: direct.note,
    site: sites.note,
    appTotals: (read) => {
      totals = read;
    },
    text: async () => `${await registry.metrics()}${direct.text()}${sites.text()}${appText(totals())}`,
    contentType: registry.contentType,
  };
}

function appText({ requests, bytesOut }: { requests: number; bytesOut: number }): string {
  return [
    '# HELP svc_app_requests_total Requests that apps and their sites answered.',
    '# TYPE svc_app_requests_total counter',
    `svc_app_requests_total ${requests}`,
    '# HELP svc_app_bytes_total Bytes of bodies that apps and their sites answered with.',
    '# TYPE svc_app_bytes_total counter',
    `svc_app_bytes_total ${bytesOut}`,
    '',
  ].join('\n');
}
