import { fail } from '../core/problem.ts';

export type RateLimit = (key: string, perMinuteMax: number) => void;

const windowMs = 60_000;
/** Beyond this, the least recently used keys are dropped; that can only admit more calls. */
const keysMax = 10_000;

export interface CallCounter {
  /** Throws where the key was counted as often as is allowed within a minute. */
  require(key: string, perMinuteMax: number): void;
  add(key: string): void;
}

export function createCallCounter(now: () => Date): CallCounter {
  const calls = new Map<string, number[]>();
  const recentCalls = (key: string, at: number) =>
    (calls.get(key) ?? []).filter((time) => time > at - windowMs);
  return {
    require(key, perMinuteMax) {
      const at = now().getTime();
      const recent = recentCalls(key, at);
      const oldest = recent[0];
      if (recent.length < perMinuteMax || oldest === undefined) return;
      throw fail('rate_limited', {
        detail: `At most ${perMinuteMax} requests per minute.`,
        headers: { 'retry-after': String(Math.max(1, Math.ceil((oldest + windowMs - at) / 1000))) },
      });
    },
    add(key) {
      const at = now().getTime();
      const recent = recentCalls(key, at);
      // Deleted and set again, so that the map is ordered by last use.
      calls.delete(key);
      calls.set(key, [...recent, at]);
      const first = calls.size > keysMax ? calls.keys().next().value : undefined;
      if (first !== undefined) calls.delete(first);
    },
  };
}

export function createRateLimit(now: () => Date): RateLimit {
  const calls = createCallCounter(now);
  return (key, perMinuteMax) => {
    calls.require(key, perMinuteMax);
    calls.add(key);
  };
}
