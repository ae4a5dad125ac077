import type { Readable } from 'node:stream';
import { logLineBytesMax } from '@svc/contract/deployments.ts';
import type { LogSink } from '../runtime.ts';
import { splitLines } from './line-splitter.ts';

/** So much is looked at in one turn; then it is everybody else's. */
const turnBytesMax = 8 * 1024;
/** Whoever says more is not read meanwhile, and waits as its pipe is full. */
const pace = { bytesPerMs: 4 * 1024, linesPerMs: 5, aheadMsMax: 1_000 };

/** All that a program says, line by line, at a pace that leaves the server to others. Resolves when nobody has it open. */
export async function hearOutput(
  stream: Readable,
  { name, log }: { name: 'stdout' | 'stderr'; log: LogSink },
): Promise<void> {
  const lines = splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => log(name, line) });
  let paidUntil = performance.now();

  function hear(bytes: Uint8Array): number {
    if (!log.isFull?.()) return lines.take(bytes) / pace.linesPerMs;
    const missed = lines.skip(bytes);
    if (missed > 0) log.miss?.(missed);
    return 0;
  }

  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      for (let from = 0; from < chunk.length; from += turnBytesMax) {
        const bytes = chunk.subarray(from, from + turnBytesMax);
        const costMs = Math.max(hear(bytes), bytes.length / pace.bytesPerMs);
        const now = performance.now();
        paidUntil = Math.max(now, paidUntil) + costMs;
        const waitMs = paidUntil - now - pace.aheadMsMax;
        if (waitMs > 0) await Bun.sleep(Math.ceil(waitMs));
        else await new Promise(setImmediate);
      }
    }
  } catch {
    // Torn off: what was heard until then is what there is.
  }
  lines.end();
}
