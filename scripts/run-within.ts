interface Limits<T> {
  /** How many run at the same time. */
  lanes: number;
  /** The time limit for all together. */
  ms: number;
  expectedMs(item: T): number;
  now?(): number;
}

interface Within<T, R> {
  results: R[];
  /** What would not have ended in time. */
  leftOut: T[];
}

/**
 * Runs what is expected to end in time. Expectations follow the speed of this machine: what took twice as long as
 * expected so far makes the rest be expected to take twice as long.
 */
export async function runWithin<T, R>(
  items: readonly T[],
  run: (item: T) => Promise<R>,
  { lanes, ms, expectedMs, now = () => performance.now() }: Limits<T>,
): Promise<Within<T, R>> {
  const end = now() + ms;
  const waiting = [...items];
  const found: Within<T, R> = { results: [], leftOut: [] };
  let expected = 0;
  let taken = 0;
  const runLane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const slowness = expected === 0 ? 1 : taken / expected;
      const started = now();
      if (started + expectedMs(item) * slowness > end) {
        found.leftOut.push(item);
        continue;
      }
      found.results.push(await run(item));
      expected += expectedMs(item);
      taken += now() - started;
    }
  };
  await Promise.all(Array.from({ length: lanes }, runLane));
  return found;
}
