import { createHash } from 'node:crypto';
import { fail } from '../../plumbing/problem.ts';

export interface Metered {
  /** To be read once, to the end. */
  chunks: AsyncGenerator<Uint8Array>;
  /** Of what has been read. */
  facts(): { size: number; sha256: string };
}

/** Counts and sums a body on its way, ends it where it is too large, and leaves it when it is called off. */
export function meter(
  body: AsyncIterable<Uint8Array>,
  { bytesMax, signal }: { bytesMax: number; signal?: AbortSignal },
): Metered {
  const sum = createHash('sha256');
  let size = 0;
  async function* chunks() {
    for await (const chunk of signal ? untilAborted(body, signal) : body) {
      size += chunk.byteLength;
      if (size > bytesMax) {
        throw fail('payload_too_large', { detail: `At most ${bytesMax} bytes are taken here.` });
      }
      sum.update(chunk);
      yield chunk;
    }
    signal?.throwIfAborted();
  }
  return { chunks: chunks(), facts: () => ({ size, sha256: sum.copy().digest('hex') }) };
}

/** A source that has fallen silent is not waited for. */
async function* untilAborted(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {});
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const source = body[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const next = await Promise.race([source.next(), aborted]);
      isOver = next.done === true;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: it answers only after the chunk that may never come.
    if (!isOver) void Promise.resolve(source.return?.()).catch(() => {});
  }
}
