import { expect, test } from 'bun:test';
import { createFastPathMetrics, createRequestCounts } from './metrics.ts';

test('the fast path counts every request once and in each bucket above its time', () => {
  const metrics = createFastPathMetrics();
  metrics.record('GET', 200, 0.0004);
  metrics.record('GET', 200, 0.02);
  metrics.record('POST', 503, 60);
  const lines = metrics.text().split('\n');
  expect(lines).toContain('svc_rows_requests_total{method="GET",status="200"} 2');
  expect(lines).toContain('svc_rows_requests_total{method="POST",status="503"} 1');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="0.0005"} 1');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="0.025"} 2');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="10"} 2');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="+Inf"} 3');
  expect(lines).toContain('svc_rows_request_seconds_count 3');
});

test('requests are counted by method and status; unknown methods share one label', () => {
  const counts = createRequestCounts({ name: 'a_total', help: 'Some.' });
  counts.record('GET', 200);
  counts.record('GET', 200);
  counts.record('GET', 304);
  counts.record('MADE', 405);
  counts.record('UP', 405);
  expect(counts.text().split('\n')).toEqual([
    '# HELP a_total Some.',
    '# TYPE a_total counter',
    'a_total{method="GET",status="200"} 2',
    'a_total{method="GET",status="304"} 1',
    'a_total{method="other",status="405"} 2',
    '',
  ]);
});
