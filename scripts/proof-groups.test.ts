import { expect, test } from 'bun:test';
import { inTime, proofGroups } from './proof-groups.ts';

/** Files are named by their seconds. */
const groupsOf = (lanes: number, ...files: string[]) =>
  proofGroups(files, (file) => Number.parseInt(file, 10) * 1000, lanes);

test('long proofs have a process each and start first, the longest at the beginning', () => {
  expect(groupsOf(1, '120', '1', '300', '101')).toEqual([['300'], ['120'], ['101'], ['1']]);
});

test('short proofs share processes in the given order, up to 200 seconds', () => {
  expect(groupsOf(1, '80', '40', '100', '60', '100', '10')).toEqual([
    ['80', '40'],
    ['100', '60'],
    ['100', '10'],
  ]);
});

test('the last processes are short, and no file is left out', () => {
  const files = Array.from({ length: 100 }, (_, at) => `10 ${at}`);
  const groups = groupsOf(3, ...files);
  expect(groups.flat()).toEqual(files);
  expect(groups[0]).toHaveLength(20);
  expect(groups.slice(-3).map(({ length }) => length)).toEqual([1, 1, 1]);
});

test('where time is short, long proofs wait for their turn like short ones', () => {
  const chosen = inTime(['90', '300', '10', '50', '20'], (file) => Number.parseInt(file, 10) * 1000, 130_000);
  expect(chosen).toEqual({ first: ['90', '10', '20'], later: ['300', '50'] });
});
