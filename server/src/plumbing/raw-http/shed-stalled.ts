import type { Desk } from './outlet.ts';

/** Of what connections were sent and have not taken, over all of them. */
export const queuedBytesMax = 64 * 1024 * 1024;

interface Stallable {
  stalled: { bytes: number; since: number } | null;
  terminate(): void;
}

/**
 * Keeps what waits for slow clients within bounds: beyond, those go that have taken nothing for the longest time, and
 * of these who holds most.
 */
export function shedStalled(
  desk: Desk,
  { connections, bytesMax }: { connections: Iterable<Stallable>; bytesMax: number },
): void {
  let isPlanned = false;
  desk.onQueued = () => {
    if (isPlanned || desk.queuedBytes <= bytesMax) return;
    isPlanned = true;
    // Not in the midst of an answer that is being put together.
    queueMicrotask(() => {
      isPlanned = false;
      const found: { connection: Stallable; bytes: number; since: number }[] = [];
      for (const connection of connections) {
        const { stalled } = connection;
        if (stalled) found.push({ connection, ...stalled });
      }
      found.sort((a, b) => a.since - b.since || b.bytes - a.bytes);
      // Some more than needed, so that it is not looked for with each answer.
      let left = desk.queuedBytes - bytesMax * 0.75;
      for (const { connection, bytes } of found) {
        if (left <= 0) break;
        connection.terminate();
        left -= bytes;
      }
    });
  };
}
