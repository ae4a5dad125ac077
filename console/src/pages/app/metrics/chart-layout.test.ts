import { expect, test } from 'bun:test';
import { nextStep } from '../rules.ts';
import { axisTicks, sparkline } from './chart-layout.ts';

test.each<[Parameters<typeof axisTicks>, number[]]>([
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
])('axis ticks of %j are %j', (given, expected) => {
  expect(axisTicks(...given)).toEqual(expected);
});

test('ticks cover the maximum and are few', () => {
  for (let max = 0.003; max < 1e12; max *= 1.37)
    for (const of of ['counts', 'figures'] as const) {
      const ticks = axisTicks(max, of);
      expect([max, of, (ticks.at(-1) ?? 0) >= max, ticks.length <= 6]).toEqual([max, of, true, true]);
    }
});

test('the next step follows from the state of the app', () => {
  const of = (record: 'active' | 'archived' | 'deleted', runtime: 'none' | 'running' | 'suspended') =>
    nextStep({ record, runtime, deployment_status: runtime === 'none' ? 'draft' : 'deployed' });
  expect([
    of('active', 'none'),
    of('active', 'running'),
    of('active', 'suspended'),
    of('archived', 'none'),
    of('archived', 'suspended'),
    of('deleted', 'suspended'),
  ]).toEqual(['deploy', null, 'resume', 'reactivate', 'reactivate', 'restore']);
});

test('a sparkline spans the box, with the maximum at the top', () => {
  const box = { width: 100, height: 20 };
  expect(sparkline([0, 5, 10], box)).toBe('0,20 50,10 100,0');
  expect(sparkline([0, 0], box)).toBe('0,20 100,20');
  expect(sparkline([3], box)).toBe('0,0');
});
