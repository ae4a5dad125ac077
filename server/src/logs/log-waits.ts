import type { Invalidation } from '../plumbing/invalidation.ts';

/** Those who wait for the next line of a log, woken by its tag. */
export interface LogWaits {
  /** Resolves when the tag is heard, or after the time. */
  wait(tag: string, ms: number): Promise<void>;
  isStopping(): boolean;
  /** Nobody waits any longer: the server stops. */
  stop(): void;
}

export function createLogWaits(invalidation: Pick<Invalidation, 'onChange'>): LogWaits {
  const waiting = new Map<string, Set<() => void>>();
  let stopped = false;
  const wake = (tag: string) => {
    for (const go of waiting.get(tag) ?? []) go();
  };
  const wakeAll = () => {
    for (const tag of waiting.keys()) wake(tag);
  };
  invalidation.onChange((tag) => (tag === null ? wakeAll() : wake(tag)));
  return {
    wait(tag, ms) {
      if (stopped) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const those = waiting.get(tag) ?? new Set();
      const go = () => {
        clearTimeout(timer);
        those.delete(go);
        if (those.size === 0 && waiting.get(tag) === those) waiting.delete(tag);
        resolve();
      };
      const timer = setTimeout(go, ms);
      those.add(go);
      waiting.set(tag, those);
      return promise;
    },
    isStopping: () => stopped,
    stop() {
      stopped = true;
      wakeAll();
    },
  };
}
