import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { patientMs } from '../../scripts/patience.ts';

const firstPauseMs = 5;
/** Each poll costs the server about as much as the work that the test waits for. */
const maxPauseMs = 100;

/** Polls until the result is truthy, less often after a while. What takes many seconds has a longer `pauseMsMax`. */
export async function until<T>(
  what: string,
  poll: () => Promise<T | null | undefined | false>,
  maxMs = 10_000,
  pauseMsMax = maxPauseMs,
): Promise<T> {
  const deadline = performance.now() + patientMs(maxMs);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, pauseMsMax)) {
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

/** Runs the work for the numbers from 0, so many at a time. */
export const repeatConcurrently = (count: number, atOnce: number, work: (at: number) => Promise<void>) =>
  mapConcurrently([...Array(count).keys()], atOnce, work);

/** For tests that run beside each other, but only so many of them at a time: `using slot = await slots.take()`. */
export function newSemaphore(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    async take(): Promise<Disposable> {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return {
        [Symbol.dispose]() {
          const next = waiting.shift();
          if (next) next();
          else free++;
        },
      };
    },
  };
}

/** A sample of a long list, always the same: its first entry and every nth after it. */
export const everyNth = <T>(all: readonly T[], n: number): T[] => all.filter((_, at) => at % n === 0);
