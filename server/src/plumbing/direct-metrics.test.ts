import { expect, test } from 'bun:test';
import { createDirectMetrics } from './direct-metrics.ts';

test('counts add up: every request is in one count and in every bucket above its time', () => {
  const metrics = createDirectMetrics();
  metrics.note('GET', 200, 0.0004);
  metrics.note('GET', 200, 0.02);
  metrics.note('POST', 503, 60);
  const lines = metrics.text().split('\n');
  expect(lines).toContain('svc_rows_requests_total{method="GET",status="200"} 2');
  expect(lines).toContain('svc_rows_requests_total{method="POST",status="503"} 1');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="0.0005"} 1');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="0.025"} 2');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="10"} 2');
  expect(lines).toContain('svc_rows_request_seconds_bucket{le="+Inf"} 3');
  expect(lines).toContain('svc_rows_request_seconds_count 3');
});
