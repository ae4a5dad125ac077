import { patientMs } from '../../scripts/patience.ts';

const firstPauseMs = 5;
/** Each poll costs the server about as much as the work that the test waits for. */
const maxPauseMs = 100;

/** Polls until the result is truthy, less often after a while. */
export async function until<T>(
  what: string,
  poll: () => Promise<T | null | undefined | false>,
  maxMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + patientMs(maxMs);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
    const result = await poll();
    if (result) return result;
    if (performance.now() > deadline) throw new Error(`This did not happen in ${maxMs} ms: ${what}.`);
    await Bun.sleep(pauseMs);
  }
}

/** Asks again and again until `stop`, with a short pause: what is tested needs the processor too. */
export function keepAsking(
  ask: () => Promise<unknown>,
  { clients = 1, pauseMs = 10 } = {},
): { stop(): Promise<void> } {
  let isOver = false;
  const asking = Array.from({ length: clients }, async () => {
    while (!isOver) {
      await ask();
      await Bun.sleep(pauseMs);
    }
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(asking);
    },
  };
}

/** Runs the work on each item, a few at a time; the results keep the order of the items. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = 4,
): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async () => {
    for (const [at, item] of entries) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

/** Runs the work for the numbers from 0, so many at a time. */
export const repeatConcurrently = (count: number, atOnce: number, work: (at: number) => Promise<void>) =>
  mapConcurrently([...Array(count).keys()], work, atOnce);

/** A sample of a long list, always the same: its first entry and every nth after it. */
export const everyNth = <T>(all: readonly T[], n: number): T[] => all.filter((_, at) => at % n === 0);
