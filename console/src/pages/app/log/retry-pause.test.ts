import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import type { Problem } from '@svc/contract/problem.ts';
import { retryPause } from './retry-pause.ts';

const refused = (status: number, retryAfter: number | null = null) =>
  new ProblemError({ status, detail: '' } as Problem, retryAfter);

test('a log whose server does not answer is asked for again after growing pauses', () => {
  const lost = new TypeError('The connection was lost.');
  expect([1, 2, 3, 4, 5, 6, 60].map((failures) => retryPause(lost, failures))).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
});

test('what passes by itself or by a sign-in is tried again; what was refused for good is not', () => {
  expect([401, 429, 500, 503].map((status) => retryPause(refused(status), 1))).toEqual(Array(4).fill(1_000));
  expect([400, 403, 404].map((status) => retryPause(refused(status), 1))).toEqual(Array(3).fill(null));
});

test('a server that says how long to wait is heeded, within bounds', () => {
  expect(retryPause(refused(429, 7), 1)).toBe(7_000);
  expect(retryPause(refused(429, 3_600), 1)).toBe(30_000);
});
