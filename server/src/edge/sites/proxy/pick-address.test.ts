import { expect, test } from 'bun:test';
import { createInFlightCounter } from './pick-address.ts';

test('requests in flight are counted by address and never negative', () => {
  const inFlight = createInFlightCounter();
  inFlight.begin('a:1');
  inFlight.begin('a:1');
  inFlight.begin('b:1');
  inFlight.end('a:1');
  expect(['a:1', 'b:1', 'c:1'].map(inFlight.count)).toEqual([1, 1, 0]);
  inFlight.end('a:1');
  inFlight.end('a:1');
  inFlight.begin('a:1');
  expect(inFlight.count('a:1')).toBe(1);
});
