import { expect, test } from 'bun:test';
import { createCpuShare } from './cpu-share.ts';
import type { ProcessRow } from './process-trees.ts';

const row = (pid: number, own: number, childrenCpuMs = 0): ProcessRow => ({
  pid,
  parent: 1,
  group: 1,
  session: 1,
  cpuMs: own + childrenCpuMs,
  childrenCpuMs,
  residentBytes: 0,
});

/** The share of one core that `cores` busy processes get if they are looked at every `everyMs`. */
function busyShare(limit: number, cores: number, everyMs: number): number {
  const share = createCpuShare(limit, 0);
  const forMs = 60_000;
  let [used, isPaused] = [0, false];
  for (let at = everyMs; at <= forMs; at += everyMs) {
    if (!isPaused) used += cores * everyMs;
    const tree = Array.from({ length: cores }, (_, pid) => row(pid, used / cores));
    isPaused = share.spend(tree, at);
  }
  return used / forMs;
}

test.each([
  [0.25, 1],
  [0.25, 2],
  [0.5, 8],
  [2, 64],
])('%p cores are the share of an app with %p busy processes', (limit, cores) => {
  expect(busyShare(limit, cores, 100)).toBeGreaterThan(limit * 0.9);
  expect(busyShare(limit, cores, 100)).toBeLessThan(limit * 1.15);
});

test('an app that keeps to its share is never paused', () => {
  const share = createCpuShare(0.5, 0);
  for (let second = 1; second < 100; second++)
    expect(share.spend([row(1, 490 * second)], second * 1_000)).toBe(false);
});

test('after a pause the bucket fills again', () => {
  const share = createCpuShare(1, 0);
  expect(share.spend([row(1, 2_500)], 1_000)).toBe(true);
  expect(share.isBusy()).toBe(true);
  expect(share.spend([row(1, 2_500)], 4_000)).toBe(false);
  expect(share.isBusy()).toBe(false);
});

test('the time of processes that have ended counts once, whether their parent waits for them or not', () => {
  const waits = createCpuShare(1, 0);
  // 900 ms of each second, by a new child each time.
  for (let second = 1; second < 20; second++)
    expect(waits.spend([row(1, 0, 900 * (second - 1)), row(1 + second, 900)], second * 1_000)).toBe(false);
  const ignores = createCpuShare(1, 0);
  const paused = Array.from({ length: 20 }, (_, at) =>
    ignores.spend([row(1, 0), row(2 + at, 1_500)], (at + 1) * 1_000),
  );
  expect(paused).toContain(true);
});
