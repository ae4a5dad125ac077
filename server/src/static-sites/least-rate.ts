import { fail } from '../plumbing/problem.ts';

const bytesPerSecondMin = 1024;
/** Lines take a while to get going. */
const graceMs = 30_000;

/** What comes more slowly on the whole is not waited for. Only the time counts for which it was waited. */
export async function* leastRate(
  pieces: AsyncIterable<Uint8Array>,
  now: () => Date,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let waitedMs = 0;
  let since = now().getTime();
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    waitedMs += now().getTime() - since;
    if (waitedMs > graceMs && bytes < (waitedMs / 1000) * bytesPerSecondMin)
      throw fail('request_timeout', {
        detail: `Send at least ${bytesPerSecondMin} bytes a second.`,
      });
    yield piece;
    since = now().getTime();
  }
}
