import { expect, test } from 'bun:test';
import { ticksUpTo } from './ticks-up-to.ts';

test.each<[Parameters<typeof ticksUpTo>, number[]]>([
  [
    [0, 'counts'],
    [0, 1],
  ],
  [
    [1, 'counts'],
    [0, 1],
  ],
  [
    [3, 'counts'],
    [0, 1, 2, 3],
  ],
  [
    [7, 'counts'],
    [0, 2, 4, 6, 8],
  ],
  [
    [1000, 'counts'],
    [0, 500, 1000],
  ],
  [
    [0.24, 'figures'],
    [0, 0.1, 0.2, 0.3],
  ],
  [
    [43, 'figures'],
    [0, 20, 40, 60],
  ],
  [
    [0, 'figures'],
    [0, 0.5, 1],
  ],
  [
    [88_100_000, 'figures'],
    [0, 50_000_000, 100_000_000],
  ],
])('beside the axis of %j stand %j', (given, expected) => {
  expect(ticksUpTo(...given)).toEqual(expected);
});

test('they reach as far as what is drawn, and are few', () => {
  for (let max = 0.003; max < 1e12; max *= 1.37)
    for (const of of ['counts', 'figures'] as const) {
      const ticks = ticksUpTo(max, of);
      expect([max, of, (ticks.at(-1) ?? 0) >= max, ticks.length <= 6]).toEqual([max, of, true, true]);
    }
});
