import { expect, test } from 'bun:test';
import { createUnderWay } from './under-way.ts';

test('what is under way is counted by address, and never below nothing', () => {
  const underWay = createUnderWay();
  underWay.begin('a:1');
  underWay.begin('a:1');
  underWay.begin('b:1');
  underWay.end('a:1');
  expect(['a:1', 'b:1', 'c:1'].map(underWay.count)).toEqual([1, 1, 0]);
  underWay.end('a:1');
  underWay.end('a:1');
  underWay.begin('a:1');
  expect(underWay.count('a:1')).toBe(1);
});
