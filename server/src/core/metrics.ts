import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  requests: Counter<'route' | 'method' | 'status'>;
  seconds: Histogram<'route'>;
  inFlight: Gauge;
  fastPath(method: string, status: number, seconds: number): void;
  siteRequest(method: string, status: number): void;
  setAppTotals(read: () => { requests: number; bytesOut: number }): void;
  text(): Promise<string>;
  contentType: string;
}

/** The library's default of 10 ms was half of the work of an idle server. */
const eventLoopSampleMs = 250;
/** Registering them measures the heap, which would delay the start. */
const defaultsAfterMs = 5_000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  let isCollecting = false;
  const collectDefaults = () => {
    if (isCollecting) return;
    isCollecting = true;
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSampleMs });
  };
  setTimeout(collectDefaults, defaultsAfterMs).unref();
  const fastPath = createFastPathMetrics();
  const sites = createRequestCounts({
    name: 'svc_site_requests_total',
    help: 'Responses to requests for sites.',
  });
  let totals = () => ({ requests: 0, bytesOut: 0 });
  return {
    requests: new Counter({
      name: 'svc_http_requests_total',
      help: 'Responses by route.',
      labelNames: ['route', 'method', 'status'],
      registers: [registry],
    }),
    seconds: new Histogram({
      name: 'svc_http_request_seconds',
      help: 'Time from the complete request head to the response.',
      labelNames: ['route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
    inFlight: new Gauge({
      name: 'svc_http_requests_in_flight',
      help: 'Requests in progress.',
      registers: [registry],
    }),
    fastPath: fastPath.record,
    siteRequest: sites.record,
    setAppTotals: (read) => {
      totals = read;
    },
    text: async () => {
      collectDefaults();
      const { requests, bytesOut } = totals();
      return [
        await registry.metrics(),
        fastPath.text(),
        sites.text(),
        counterText('svc_app_requests_total', 'Responses of apps and their sites.', [` ${requests}`]),
        counterText('svc_app_bytes_total', 'Response body bytes of apps and their sites.', [` ${bytesOut}`]),
      ].join('');
    },
    contentType: registry.contentType,
  };
}

function counterText(name: string, help: string, values: readonly string[]): string {
  const lines = values.map((value) => `${name}${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, ...lines, ''].join('\n');
}

const bucketBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createFastPathMetrics() {
  const counts = createRequestCounts({
    name: 'svc_rows_requests_total',
    help: 'Responses of the row API.',
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  });
  const buckets = new Float64Array(bucketBounds.length + 1);
  let sum = 0;

  return {
    record(method: string, status: number, seconds: number): void {
      counts.record(method, status);
      let at = 0;
      while (at < bucketBounds.length && seconds > (bucketBounds[at] ?? 0)) at++;
      buckets[at] = (buckets[at] ?? 0) + 1;
      sum += seconds;
    },
    text(): string {
      let total = 0;
      const bucketLines = [...bucketBounds, '+Inf'].map((bound, at) => {
        total += buckets[at] ?? 0;
        return `svc_rows_request_seconds_bucket{le="${bound}"} ${total}`;
      });
      const times = [
        '# HELP svc_rows_request_seconds Time from the complete request head to the response.',
        '# TYPE svc_rows_request_seconds histogram',
        ...bucketLines,
        `svc_rows_request_seconds_sum ${sum}`,
        `svc_rows_request_seconds_count ${total}`,
        '',
      ].join('\n');
      return counts.text() + times;
    },
  };
}

export function createRequestCounts({
  name,
  help,
  methods = ['GET', 'HEAD'],
}: {
  name: string;
  help: string;
  methods?: readonly string[];
}) {
  const counts = new Map<string, Map<number, number>>();

  return {
    record(method: string, status: number): void {
      // Clients may send any method name; each new label value would take memory.
      const key = methods.includes(method) ? method : 'other';
      const byStatus = counts.get(key) ?? new Map<number, number>();
      counts.set(key, byStatus);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    },
    text(): string {
      const values = [...counts].flatMap(([method, byStatus]) =>
        [...byStatus].map(([status, count]) => `{method="${method}",status="${status}"} ${count}`),
      );
      return counterText(name, help, values);
    },
  };
}
