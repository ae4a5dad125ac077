/** Whoever holds one of the few places has to use it: a kilobyte a second, seen over half a minute. */
const bytesPerSecondMin = 1024;
const windowMs = 30_000;

export interface LeastSpeed {
  /** So long was waited for these bytes. False: that is too slow. */
  waited(ms: number, bytes: number): boolean;
}

/** Only what is waited for the other side counts: git may think for as long as it likes. */
export function createLeastSpeed(): LeastSpeed {
  let [ms, bytes] = [0, 0];
  return {
    waited(moreMs, moreBytes) {
      ms += moreMs;
      bytes += moreBytes;
      if (ms < windowMs) return true;
      const isFast = bytes >= (ms / 1000) * bytesPerSecondMin;
      [ms, bytes] = [0, 0];
      return isFast;
    },
  };
}

/** How long somebody may take over a piece of this size. */
export function msFor(bytes: number): number {
  return Math.max(windowMs, (bytes / bytesPerSecondMin) * 1000);
}
