import { unavailable } from './unavailable.ts';

/** A body that fails where its sender falls silent, or ends before all of it was sent. */
export function withIdleLimit(
  body: ReadableStream<Uint8Array>,
  { idleMs, length, leave }: { idleMs: number; length: number | null; leave(): void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await within(idleMs, reader.read());
          received += next.value?.byteLength ?? 0;
          if (next.value) controller.enqueue(next.value);
          if (!next.done) return;
          if (length !== null && received !== length)
            throw new Error(`Of ${length} bytes, ${received} were sent`);
          controller.close();
        } catch (error) {
          leave();
          controller.error(unavailable(error));
        }
      },
      async cancel() {
        leave();
        await reader.cancel().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Silent for ${limitMs} ms`)), limitMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
