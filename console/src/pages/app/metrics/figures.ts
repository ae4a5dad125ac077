import type { getAppMetrics, metricsRanges } from '@svc/contract/app-metrics.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { formatBytes } from '../../../components/format.ts';

export type AppMetrics = Answer<NonNullable<typeof getAppMetrics.shape>>;
type MetricsPoint = AppMetrics['points'][number];
export type MetricsRange = (typeof metricsRanges)[number];

interface Series {
  name: string;
  color: string;
  dash?: string;
  isOfWholeStep?: true;
  of(point: MetricsPoint, stepSeconds: number): number | null;
}

export interface Chart {
  title: string;
  means: string;
  kind: 'bars' | 'lines' | 'area';
  scale: 'counts' | 'figures';
  format(value: number): string;
  series: readonly Series[];
}

export const formatCount = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 0 });
const formatShort = (value: number) =>
  value.toLocaleString('en', value < 10 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 });
export const formatPercent = (value: number) => `${formatShort(value)} %`;
export function formatMs(value: number): string {
  if (value >= 120_000) return `${(value / 60_000).toLocaleString('en', { maximumFractionDigits: 1 })} min`;
  if (value >= 1000) return `${(value / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} s`;
  return `${formatShort(value)} ms`;
}
export function errorPercent({ requests, by_status }: Pick<MetricsPoint, 'requests' | 'by_status'>) {
  return requests === 0 ? null : (by_status['5xx'] / requests) * 100;
}

export const charts: readonly Chart[] = [
  {
    title: 'Requests',
    means: 'By response status',
    kind: 'bars',
    scale: 'counts',
    format: formatCount,
    series: (['2xx', '3xx', '4xx', '5xx'] as const).map((name) => ({
      name,
      color: { '2xx': 'teal.6', '3xx': 'blue.5', '4xx': 'yellow.6', '5xx': 'red.6' }[name],
      of: ({ by_status }) => by_status[name],
    })),
  },
  {
    title: 'Latency',
    means: 'Time to first byte: p50, p95, p99',
    kind: 'lines',
    scale: 'figures',
    format: formatMs,
    series: [
      { name: 'p50', color: 'blue.6', of: ({ p50_ms }) => p50_ms },
      { name: 'p95', color: 'orange.6', dash: '6 3', of: ({ p95_ms }) => p95_ms },
      { name: 'p99', color: 'grape.6', dash: '2 3', of: ({ p99_ms }) => p99_ms },
    ],
  },
  {
    title: 'Errors',
    means: 'Share of responses with status 5xx',
    kind: 'area',
    scale: 'figures',
    format: formatPercent,
    series: [{ name: 'errors', color: 'red.6', of: errorPercent }],
  },
  {
    title: 'CPU',
    means: 'Percent of one core; can exceed 100 %',
    kind: 'area',
    scale: 'figures',
    format: formatPercent,
    series: [
      {
        name: 'CPU',
        color: 'indigo.6',
        isOfWholeStep: true,
        of: ({ cpu_ms }, stepSeconds) => (cpu_ms / (stepSeconds * 1000)) * 100,
      },
    ],
  },
  {
    title: 'Memory',
    means: 'Peak',
    kind: 'area',
    scale: 'figures',
    // A non-breaking space keeps the axis label on one line.
    format: (value) => formatBytes(value).replace('.0 ', ' ').replace(' ', '\u00a0'),
    series: [
      {
        name: 'memory',
        color: 'cyan.7',
        of: ({ memory_bytes }) => (memory_bytes > 0 ? memory_bytes : null),
      },
    ],
  },
];

export interface ChartRow {
  at: string;
  label: string;
  values: (number | null)[];
}

export function chartRows({ series }: Chart, { points, step_seconds, range }: AppMetrics): ChartRow[] {
  return points.map((point, at) => ({
    at: point.at,
    label: timeLabel(point.at, range),
    values: series.map((one) =>
      // The last step is still running, so its sum would be too low.
      one.isOfWholeStep && at === points.length - 1 ? null : one.of(point, step_seconds),
    ),
  }));
}

function timeLabel(at: string, range: MetricsRange): string {
  const time = new Date(at);
  const clock = time.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false });
  return range === '7d' ? `${time.toLocaleDateString('en', { weekday: 'short' })} ${clock}` : clock;
}
