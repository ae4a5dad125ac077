import { describe, expect, test } from 'bun:test';
import { type AppMetrics, chartRows, charts, errorPercent, formatMs, formatPercent } from './figures.ts';

const figures = {
  requests: 4,
  by_status: { '2xx': 2, '3xx': 1, '4xx': 0, '5xx': 1 },
  bytes_out: 10,
  p50_ms: 5,
  p95_ms: 80.5,
  p99_ms: null,
  cpu_ms: 30_000,
  memory_bytes: 0,
};
const metrics: AppMetrics = {
  range: '1h',
  from: '2026-01-01T00:00:00Z',
  to: '2026-01-01T01:00:00Z',
  step_seconds: 60,
  total: figures,
  processes: [],
  points: [
    { at: '2026-01-01T00:00:00.000Z', ...figures },
    { at: '2026-01-01T00:01:00.000Z', ...figures },
  ],
};

describe('charts', () => {
  test('show the figures of the server, and gaps without data', () => {
    const values = Object.fromEntries(
      charts.map((chart) => [chart.title, chartRows(chart, metrics).map((row) => row.values)]),
    );
    expect(values).toEqual({
      Requests: [
        [2, 1, 0, 1],
        [2, 1, 0, 1],
      ],
      Latency: [
        [5, 80.5, null],
        [5, 80.5, null],
      ],
      Errors: [[25], [25]],
      CPU: [[50], [null]],
      Memory: [[null], [null]],
    });
    expect(errorPercent({ ...figures, requests: 0 })).toBeNull();
  });

  test.each([
    [formatMs(0.5), '0.5 ms'],
    [formatPercent(0.075), '0.075 %'],
    [formatPercent(2.5), '2.5 %'],
    [formatPercent(42.4), '42 %'],
    [formatMs(250), '250 ms'],
    [formatMs(1500), '1.5 s'],
    [formatMs(710_400), '11.8 min'],
  ])('format %s', (text, expected) => {
    expect(text).toBe(expected);
  });
});
