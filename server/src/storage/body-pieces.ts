import { fail } from '../plumbing/problem.ts';

/** A client that sends nothing for this long is cut off. */
const silenceMsMax = 30_000;
/** How often the connection is told to stay, also while the store takes its time. */
const stayMs = 10_000;

/** The body as it comes in; the next piece is read when this one has been taken, so that no more than it is held. */
export async function* bodyPieces(
  request: Request,
  { patient, msMax }: { patient: () => void; msMax: number },
): AsyncGenerator<Uint8Array> {
  if (request.body === null) return;
  const reader = request.body.getReader();
  const until = performance.now() + msMax;
  patient();
  const staying = setInterval(patient, stayMs);
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await within(Math.min(silenceMsMax, until - performance.now()), reader.read());
      isOver = done;
      if (done) return;
      yield value;
    }
  } finally {
    // The end of it is still to be stored: the connection has this long for that.
    patient();
    clearInterval(staying);
    // Not awaited: a client that has stopped sending may never settle it.
    if (!isOver) reader.cancel().catch(() => {});
  }
}

async function within<T>(ms: number, read: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(fail('request_timeout')), Math.max(ms, 0));
  try {
    return await Promise.race([read, overdue]);
  } catch (cause) {
    // A client that has gone is no fault of ours.
    throw fail('request_timeout', {}, { cause });
  } finally {
    clearTimeout(timer);
    read.catch(() => {});
  }
}
