import { fail } from '../core/problem.ts';

export type RateLimit = (key: string, perMinuteMax: number) => void;

const windowMs = 60_000;
/** Beyond this, the least recently used keys are dropped; that can only admit more calls. */
const keysMax = 10_000;

export function createRateLimit(now: () => Date): RateLimit {
  const calls = new Map<string, number[]>();
  return (key, perMinuteMax) => {
    const at = now().getTime();
    const recent = (calls.get(key) ?? []).filter((time) => time > at - windowMs);
    const oldest = recent[0];
    if (recent.length >= perMinuteMax && oldest !== undefined) {
      throw fail('rate_limited', {
        detail: `At most ${perMinuteMax} requests per minute.`,
        headers: { 'retry-after': String(Math.max(1, Math.ceil((oldest + windowMs - at) / 1000))) },
      });
    }
    // Deleted and set again, so that the map is ordered by last use.
    calls.delete(key);
    calls.set(key, [...recent, at]);
    const first = calls.size > keysMax ? calls.keys().next().value : undefined;
    if (first !== undefined) calls.delete(first);
  };
}
