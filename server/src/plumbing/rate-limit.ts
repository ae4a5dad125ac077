import { fail } from './problem.ts';

/** Counts a call of somebody, or refuses it. */
export type RateLimit = (key: string, perMinuteMax: number) => void;

const windowMs = 60_000;
/** Beyond it the longest unused are forgotten, which only errs on the caller's side. */
const keysMax = 10_000;

/**
 * Against hammering at what costs little: counted in this copy of the server alone, over every minute and not only
 * those that begin at :00.
 */
export function createRateLimit(now: () => Date): RateLimit {
  const calls = new Map<string, number[]>();
  return (key, perMinuteMax) => {
    const at = now().getTime();
    const recent = (calls.get(key) ?? []).filter((time) => time > at - windowMs);
    const oldest = recent[0];
    if (recent.length >= perMinuteMax && oldest !== undefined) {
      throw fail('rate_limited', {
        detail: `This may be asked ${perMinuteMax} times a minute.`,
        headers: { 'retry-after': String(Math.max(1, Math.ceil((oldest + windowMs - at) / 1000))) },
      });
    }
    // Set anew, so that the order of the map is that of the last use.
    calls.delete(key);
    calls.set(key, [...recent, at]);
    const first = calls.size > keysMax ? calls.keys().next().value : undefined;
    if (first !== undefined) calls.delete(first);
  };
}
