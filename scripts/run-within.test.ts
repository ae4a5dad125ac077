import { expect, test } from 'bun:test';
import { runWithin } from './run-within.ts';

/** Runs on a clock that only the work moves. */
async function runOn(speed: number, ms: number, items: readonly number[]) {
  let clock = 0;
  const run = async (item: number) => {
    clock += item / speed;
    return item;
  };
  return runWithin(items, run, { lanes: 1, ms, expectedMs: (item) => item, now: () => clock });
}

test('everything runs when there is time for it', async () => {
  expect(await runOn(1, 60, [10, 20, 30])).toEqual({ results: [10, 20, 30], leftOut: [] });
});

test('what would not end in time is left out, and shorter work behind it still runs', async () => {
  expect(await runOn(1, 45, [10, 20, 30, 15])).toEqual({ results: [10, 20, 15], leftOut: [30] });
});

test('a slow machine runs less', async () => {
  expect(await runOn(0.5, 60, [10, 20, 30])).toEqual({ results: [10, 20], leftOut: [30] });
});

test('without a limit everything runs, however long it takes', async () => {
  expect(await runOn(0.001, Number.POSITIVE_INFINITY, [10, 20])).toEqual({ results: [10, 20], leftOut: [] });
});

test('several run at the same time', async () => {
  let running = 0;
  let most = 0;
  const run = async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
  };
  await runWithin([1, 2, 3, 4], run, { lanes: 3, ms: 1000, expectedMs: () => 0 });
  expect(most).toBe(3);
});

test('more run at the same time while the machine is idle', async () => {
  let running = 0;
  let most = 0;
  const run = async () => {
    most = Math.max(most, ++running);
    await Bun.sleep(1);
    running--;
  };
  const idleTimes = [true, false];
  const limits = { lanes: 1, lanesMax: 3, ms: 60_000, expectedMs: () => 0 };
  const isIdle = async () => {
    await Bun.sleep(1);
    return idleTimes.shift() ?? false;
  };
  const { results } = await runWithin([...Array(8).keys()], run, { ...limits, isIdle });
  expect([most, results.length]).toEqual([2, 8]);
});
