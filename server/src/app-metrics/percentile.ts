import { latencyBoundsMs } from '@svc/contract/app-metrics.ts';

/**
 * Below which time the given part of all requests began to be answered: between the bounds of the place where that
 * request is, as far in as its number is. Above the last bound nothing more can be said than that. Null: no requests.
 */
export function percentile(latency: readonly number[], part: number): number | null {
  const total = latency.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = part * total;
  let before = 0;
  for (const [at, count] of latency.entries()) {
    if (count > 0 && before + count >= wanted) {
      const low = at === 0 ? 0 : (latencyBoundsMs[at - 1] ?? 0);
      const high = latencyBoundsMs[at] ?? low;
      return Math.round((low + ((wanted - before) / count) * (high - low)) * 10) / 10;
    }
    before += count;
  }
  return latencyBoundsMs.at(-1) ?? null;
}
