import { expect, test } from 'bun:test';
import { logRanges, rangeLabels, rangeStart } from './log-range.ts';

test('a range of a log begins so long ago, or hangs on no time', () => {
  const now = new Date('2026-01-02T00:00:00Z');
  const starts = logRanges.map((range) => rangeStart(range, now)?.toISOString().slice(0, 16) ?? null);
  expect(starts).toEqual([null, '2026-01-01T23:55', '2026-01-01T23:00', '2026-01-01T00:00', null]);
});

test('the longest range says how many lines the page keeps', () => {
  expect(rangeLabels.all).toBe('The last 5,000 lines');
});
