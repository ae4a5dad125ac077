import type { getAppMetrics, metricsRanges } from '@svc/contract/app-metrics.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { readableBytes } from '../../../parts/readable-bytes.ts';

export type AppMetrics = Answer<NonNullable<typeof getAppMetrics.shape>>;
export type MetricsPoint = AppMetrics['points'][number];
export type MetricsRange = (typeof metricsRanges)[number];

export interface Series {
  name: string;
  color: string;
  /** Beside the colour, so that lines can be told apart without it. */
  dash?: string;
  /** It is a sum that is held against the length of the point. */
  isOfWholeStep?: true;
  /** Null: there is nothing to say of that time. */
  of(point: MetricsPoint, stepSeconds: number): number | null;
}

export interface Chart {
  title: string;
  /** What the figures are, in a line below the title. */
  means: string;
  kind: 'bars' | 'lines' | 'area';
  /** What stands beside the axis. */
  scale: 'counts' | 'figures';
  format(value: number): string;
  series: readonly Series[];
}

export const formatCount = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 0 });
/** Small figures by what counts in them: ticks beside an axis would be told alike otherwise. */
const shortly = (value: number) =>
  value.toLocaleString('en', value < 10 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 });
export const formatPercent = (value: number) => `${shortly(value)} %`;
export function formatMs(value: number): string {
  if (value >= 120_000) return `${(value / 60_000).toLocaleString('en', { maximumFractionDigits: 1 })} min`;
  if (value >= 1000) return `${(value / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} s`;
  return `${shortly(value)} ms`;
}
/** Of all requests of a time, those that the app or the platform failed; null: there were none. */
export function errorPercent({ requests, by_status }: Pick<MetricsPoint, 'requests' | 'by_status'>) {
  return requests === 0 ? null : (by_status['5xx'] / requests) * 100;
}

export const charts: readonly Chart[] = [
  {
    title: 'Requests',
    means: 'By the class of their answer',
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
    means: 'Until the answer began: half, 95 % and 99 % of requests were quicker',
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
    means: 'Answers with 5xx, of all',
    kind: 'area',
    scale: 'figures',
    format: formatPercent,
    series: [{ name: 'errors', color: 'red.6', of: errorPercent }],
  },
  {
    title: 'CPU',
    means: 'Of one processor; several can be used at once',
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
    means: 'The most that was seen',
    kind: 'area',
    scale: 'figures',
    // Kept in one line beside the axis.
    format: (value) => readableBytes(value).replace('.0 ', ' ').replace(' ', '\u00a0'),
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

/** What a chart draws and what stands in its table: the same figures. */
export function chartRows({ series }: Chart, { points, step_seconds, range }: AppMetrics): ChartRow[] {
  return points.map((point, at) => ({
    at: point.at,
    label: timeLabel(point.at, range),
    values: series.map((one) =>
      // The last point has only begun: what is said of its whole length would be too little.
      one.isOfWholeStep && at === points.length - 1 ? null : one.of(point, step_seconds),
    ),
  }));
}

export function timeLabel(at: string, range: MetricsRange): string {
  const time = new Date(at);
  const clock = time.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false });
  return range === '7d' ? `${time.toLocaleDateString('en', { weekday: 'short' })} ${clock}` : clock;
}
