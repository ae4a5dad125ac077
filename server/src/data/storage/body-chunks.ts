import { fail } from '../../core/problem.ts';

const idleMsMax = 30_000;
const keepAliveMs = 10_000;

export async function* bodyChunks(
  request: Request,
  { extendTimeout, msMax }: { extendTimeout: () => void; msMax: number },
): AsyncGenerator<Uint8Array> {
  if (request.body === null) return;
  const reader = request.body.getReader();
  const until = performance.now() + msMax;
  extendTimeout();
  const keepAlive = setInterval(extendTimeout, keepAliveMs);
  let isDone = false;
  try {
    for (;;) {
      const msLeft = Math.min(idleMsMax, until - performance.now());
      const { done, value } = await withTimeout(msLeft, reader.read());
      isDone = done;
      if (done) return;
      yield value;
    }
  } finally {
    extendTimeout();
    clearInterval(keepAlive);
    // Not awaited: may never resolve when the client stopped sending.
    if (!isDone) reader.cancel().catch(() => {});
  }
}

async function withTimeout<T>(ms: number, read: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(fail('request_timeout')), Math.max(ms, 0));
  try {
    return await Promise.race([read, overdue]);
  } catch (cause) {
    throw fail('request_timeout', {}, { cause });
  } finally {
    clearTimeout(timer);
    read.catch(() => {});
  }
}
