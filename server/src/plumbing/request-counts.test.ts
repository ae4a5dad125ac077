import { expect, test } from 'bun:test';
import { createRequestCounts } from './request-counts.ts';

test('requests are counted by method and status, and made-up methods together', () => {
  const counts = createRequestCounts({ name: 'a_total', help: 'Some.' });
  counts.note('GET', 200);
  counts.note('GET', 200);
  counts.note('GET', 304);
  counts.note('MADE', 405);
  counts.note('UP', 405);
  expect(counts.text().split('\n')).toEqual([
    '# HELP a_total Some.',
    '# TYPE a_total counter',
    'a_total{method="GET",status="200"} 2',
    'a_total{method="GET",status="304"} 1',
    'a_total{method="other",status="405"} 2',
    '',
  ]);
});
