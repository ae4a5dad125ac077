import type { Account } from './byte-budget.ts';
import { fail } from './problem.ts';

/** A client that sends its body slower than this is cut off. */
export const bodyReceiveMsMax = 30_000;

/** Of a body that has begun to come: it must not stop for longer. */
const silenceMsMax = 10_000;
const smallBytes = 16 * 1024;

/** The whole body, bounded in size and in time. */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const { chunks, size } = await readChunks(request, limits);
  return joined(chunks, size);
}

export interface BodyLimits {
  bytesMax: number;
  /** How long the client may let us wait, all in all. */
  msMax?: number;
  /** Asked before a chunk is kept; where memory is short it waits. */
  account?: Pick<Account, 'take'>;
}

/** The whole body as it came in, for what is too large to be copied without need. */
export async function readChunks(
  request: Request,
  limits: BodyLimits,
): Promise<{ chunks: Uint8Array[]; size: number }> {
  try {
    return await chunksOf(request, limits);
  } catch (error) {
    // The client went away in the middle: nobody hears the answer, and it is no fault of ours.
    if (error instanceof DOMException && error.name === 'AbortError')
      throw fail('request_timeout', { detail: 'The connection was closed before the body had come.' });
    throw error;
  }
}

async function chunksOf(
  request: Request,
  limits: BodyLimits,
): Promise<{ chunks: Uint8Array[]; size: number }> {
  const encoding = request.headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw fail('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' });
  }
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > limits.bytesMax) throw tooLarge(limits.bytesMax);
  if (request.body === null) return { chunks: [], size: 0 };
  if (announced > 0 && announced <= smallBytes) {
    // Mostly all of it is there: taking it piece by piece would cost more than the rest of a short request.
    const bytes = await within(limits.msMax ?? silenceMsMax, request.bytes());
    if (bytes.byteLength > limits.bytesMax) throw tooLarge(limits.bytesMax);
    return { chunks: [bytes], size: bytes.byteLength };
  }
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let msLeft = limits.msMax ?? bodyReceiveMsMax;
  try {
    for (;;) {
      const begun = performance.now();
      const { done, value } = await within(Math.min(msLeft, silenceMsMax), reader.read());
      // Only what the client takes counts: what we let it wait for memory is not its fault.
      msLeft -= performance.now() - begun;
      if (done) break;
      size += value.byteLength;
      if (size > limits.bytesMax) throw tooLarge(limits.bytesMax);
      await limits.account?.take(value.byteLength);
      chunks.push(value);
    }
  } catch (error) {
    // Not awaited: a client that has stopped sending may never settle it.
    reader.cancel().catch(() => {});
    throw error;
  }
  return { chunks, size };
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(fail('request_timeout')), Math.max(ms, 0));
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** Exactly one JSON text in UTF-8 under exactly that content type; anything looser lets parsers disagree. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const bytes = await readBody(request, { bytesMax });
  if (bytes.byteLength === 0) return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json(?:; ?charset="?utf-8"?)?$/i.test(type)) {
    throw fail('unsupported_media_type', { detail: 'Send the body as Content-Type: application/json.' });
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch (error) {
    throw fail('malformed_json', {}, { cause: error });
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

function tooLarge(bytesMax: number) {
  return fail('payload_too_large', { detail: `The body may be at most ${bytesMax} bytes.` });
}
