import { fail } from '../core/problem.ts';

const bytesPerSecondMin = 1024;
/** Connections start slowly. */
const windowMs = 30_000;

/** Counts only the time spent waiting for the client: the consumer may take as long as it needs. */
export async function* requireMinimumRate(
  pieces: AsyncIterable<Uint8Array>,
  nowMs: () => number = () => performance.now(),
): AsyncGenerator<Uint8Array> {
  let [ms, bytes] = [0, 0];
  let since = nowMs();
  for await (const piece of pieces) {
    ms += nowMs() - since;
    bytes += piece.byteLength;
    if (ms >= windowMs) {
      if (bytes < (ms / 1000) * bytesPerSecondMin)
        throw fail('request_timeout', { detail: `Send at least ${bytesPerSecondMin} bytes a second.` });
      [ms, bytes] = [0, 0];
    }
    yield piece;
    since = nowMs();
  }
}

export function msAllowedFor(bytes: number): number {
  return Math.max(windowMs, (bytes / bytesPerSecondMin) * 1000);
}
