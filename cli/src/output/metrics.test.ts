import { expect, test } from 'bun:test';
import { type Metrics, metricsText } from './metrics.ts';

const figures: Metrics['total'] = {
  requests: 12,
  by_status: { '2xx': 9, '3xx': 0, '4xx': 2, '5xx': 1 },
  bytes_out: 2048,
  p50_ms: 5,
  p95_ms: 25.5,
  p99_ms: null,
  cpu_ms: 1240,
  memory_bytes: 3 * 1024 ** 2,
};

test('metrics are the totals and a row for each interval, never JSON', () => {
  const [from, then] = ['2031-05-01T12:00:00.000Z', '2031-05-01T12:01:00.000Z'];
  const points = [
    { ...figures, at: from },
    { ...figures, at: then, requests: 0 },
  ];
  const processes = [
    { process: 'web', cpu_ms: 1000, memory_bytes: 2 * 1024 ** 2 },
    { process: 'worker', cpu_ms: 240, memory_bytes: 1024 ** 2 },
  ];
  const metrics: Metrics = {
    range: '1h',
    from,
    to: then,
    step_seconds: 60,
    total: figures,
    processes,
    points,
  };
  const text = metricsText(metrics, { width: 40, colour: false, unicode: true });
  expect(text).not.toMatch(/[{}[\]"]/);
  expect(text).toContain('requests  12\nerrors    2 with 4xx, 1 with 5xx\n');
  expect(text).toContain('latency   p50 5 ms, p95 25.5 ms, p99 -\nsent      2.0 KiB\nCPU       1.24 s\n');
  expect(text).toContain('memory    3.0 MiB peak\n');
  expect(text).toContain('web       1.00 s CPU, 2.0 MiB peak\nworker    0.24 s CPU, 1.0 MiB peak\n');
  const rows = text.slice(text.indexOf('AT ')).trimEnd().split('\n');
  expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
    ['AT', 'REQUESTS', '4XX', '5XX', 'P50 MS', 'P95 MS', 'P99 MS', 'CPU S', 'MEMORY'],
    [from, '12', '2', '1', '5', '25.5', '-', '1.24', '3.0 MiB'],
    [then, '0', '2', '1', '5', '25.5', '-', '1.24', '3.0 MiB'],
  ]);
});
