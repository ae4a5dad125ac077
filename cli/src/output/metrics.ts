import type { AppMetrics } from '@svc/contract/app-metrics.shapes.ts';
import type { z } from 'zod';
import { tableLines } from '../framework/layout.ts';
import { bold, type Style } from '../framework/text.ts';
import { formatBytes } from './progress.ts';

export type Metrics = z.output<typeof AppMetrics>;
type Figures = Metrics['total'];

const titles = ['AT', 'REQUESTS', '4XX', '5XX', 'P50 MS', 'P95 MS', 'P99 MS', 'CPU S', 'MEMORY'];

export function metricsText({ range, from, to, total, processes, points }: Metrics, style: Style): string {
  const rows = points.map((point) => [point.at, ...figureCells(point)]);
  const grid = { titles, keep: titles.map(() => true), rows };
  // Truncated numbers would be wrong: let the terminal wrap the lines.
  const lines = tableLines(grid, { ...style, width: null }) ?? [];
  return [
    `Last ${range}, ${from} to ${to}\n\n`,
    ...[...totalLines(total), ...processLines(processes)].map(
      ([name, text]) => `${bold(style, name.padEnd(8))}  ${text}\n`,
    ),
    '\n',
    ...lines.map((line, at) => `${at === 0 ? bold(style, line) : line}\n`),
  ].join('');
}

function totalLines(total: Figures): [string, string][] {
  const { by_status, p50_ms, p95_ms, p99_ms } = total;
  const latency = [
    ['p50', p50_ms],
    ['p95', p95_ms],
    ['p99', p99_ms],
  ] as const;
  return [
    ['requests', String(total.requests)],
    ['errors', `${by_status['4xx']} with 4xx, ${by_status['5xx']} with 5xx`],
    ['latency', latency.map(([name, value]) => `${name} ${value === null ? '-' : `${value} ms`}`).join(', ')],
    ['sent', formatBytes(total.bytes_out)],
    ['CPU', `${seconds(total.cpu_ms)} s`],
    ['memory', `${formatBytes(total.memory_bytes)} peak`],
  ];
}

/** Nothing for a single process, whose figures are those of the app. */
function processLines(processes: Metrics['processes']): [string, string][] {
  if (processes.length < 2) return [];
  return processes.map(({ process, cpu_ms, memory_bytes }) => [
    process,
    `${seconds(cpu_ms)} s CPU, ${formatBytes(memory_bytes)} peak`,
  ]);
}

function figureCells({
  requests,
  by_status,
  p50_ms,
  p95_ms,
  p99_ms,
  cpu_ms,
  memory_bytes,
}: Figures): string[] {
  const latency = [p50_ms, p95_ms, p99_ms].map((value) => (value === null ? '-' : String(value)));
  const counts = [requests, by_status['4xx'], by_status['5xx']].map(String);
  return [...counts, ...latency, seconds(cpu_ms), formatBytes(memory_bytes)];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
