import { expect, test } from 'bun:test';
import { createMetricsSum } from './worker-metrics.ts';

const ofWorker = (count: number, memory: number) => `# HELP a_total Some.
# TYPE a_total counter
a_total{path="/a b"} ${count}
# HELP a_seconds Times.
# TYPE a_seconds histogram
a_seconds_bucket{le="1"} ${count}
a_seconds_bucket{le="+Inf"} ${count}
# HELP in_flight Now.
# TYPE in_flight gauge
in_flight ${count}
# HELP process_memory_bytes Memory.
# TYPE process_memory_bytes gauge
process_memory_bytes ${memory}
# HELP nodejs_version_info Version.
# TYPE nodejs_version_info gauge
nodejs_version_info{version="v1"} 1
`;

test('counts of all workers are summed, and values of one process name their worker', () => {
  const { sum } = createMetricsSum();
  const lines = sum([
    { worker: 1, text: ofWorker(2, 100) },
    { worker: 2, text: ofWorker(3, 50) },
  ]).split('\n');
  for (const line of [
    'a_total{path="/a b"} 5',
    'a_seconds_bucket{le="1"} 5',
    'a_seconds_bucket{le="+Inf"} 5',
    'in_flight 5',
    'process_memory_bytes{worker="1"} 100',
    'process_memory_bytes{worker="2"} 50',
    'nodejs_version_info{worker="1",version="v1"} 1',
  ])
    expect(lines).toContain(line);
  expect(lines.filter((line) => line.startsWith('# TYPE a_total'))).toEqual(['# TYPE a_total counter']);
});

test('counts of a worker that has ended stay in the sum, its other values do not', () => {
  const metrics = createMetricsSum();
  metrics.addEnded(ofWorker(7, 100));
  const lines = metrics.sum([{ worker: 2, text: ofWorker(3, 50) }]).split('\n');
  expect(lines).toContain('a_total{path="/a b"} 10');
  expect(lines).toContain('in_flight 3');
  expect(lines.filter((line) => line.startsWith('process_memory_bytes'))).toEqual([
    'process_memory_bytes{worker="2"} 50',
  ]);
});
