interface Limits<T> {
  /** How many run at the same time. */
  lanes: number;
  /** How many may run at the same time while `isIdle` says that the machine has time for another. */
  lanesMax?: number;
  isIdle?(): Promise<boolean>;
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
  {
    lanes,
    lanesMax = lanes,
    isIdle = async () => true,
    ms,
    expectedMs,
    now = () => performance.now(),
  }: Limits<T>,
): Promise<Within<T, R>> {
  const end = now() + ms;
  const waiting = [...items];
  const found: Within<T, R> = { results: [], leftOut: [] };
  let expected = 0;
  let taken = 0;
  const runNext = async () => {
    const item = waiting.shift();
    if (item === undefined) return;
    const slowness = expected === 0 ? 1 : taken / expected;
    const started = now();
    if (started + expectedMs(item) * slowness > end) {
      found.leftOut.push(item);
      return;
    }
    found.results.push(await run(item));
    expected += expectedMs(item);
    taken += now() - started;
  };
  const runLane = async () => {
    while (waiting.length > 0) await runNext();
  };
  const runExtraLane = async () => {
    while (waiting.length > 0) if (await isIdle()) await runNext();
  };
  await Promise.all([
    ...Array.from({ length: lanes }, runLane),
    ...Array.from({ length: lanesMax - lanes }, runExtraLane),
  ]);
  return found;
}
