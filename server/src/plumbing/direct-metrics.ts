const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts and times of the short way, in the text that Prometheus reads. */
export function createDirectMetrics() {
  const counts = new Map<string, number>();
  const buckets = new Float64Array(bounds.length + 1);
  let sum = 0;

  return {
    note(method: string, status: number, seconds: number): void {
      const key = `method="${method}",status="${status}"`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      let at = 0;
      while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
      buckets[at] = (buckets[at] ?? 0) + 1;
      sum += seconds;
    },
    text(): string {
      const requests = [...counts].map(([labels, count]) => `svc_rows_requests_total{${labels}} ${count}`);
      let total = 0;
      const times = [...bounds, '+Inf'].map((bound, at) => {
        total += buckets[at] ?? 0;
        return `svc_rows_request_seconds_bucket{le="${bound}"} ${total}`;
      });
      return [
        '# HELP svc_rows_requests_total Requests of the row API answered.',
        '# TYPE svc_rows_requests_total counter',
        ...requests,
        '# HELP svc_rows_request_seconds Time from the whole request head to the answer.',
        '# TYPE svc_rows_request_seconds histogram',
        ...times,
        `svc_rows_request_seconds_sum ${sum}`,
        `svc_rows_request_seconds_count ${total}`,
        '',
      ].join('\n');
    },
  };
}
