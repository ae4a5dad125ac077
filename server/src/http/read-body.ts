import { fail } from '../core/problem.ts';
import { withTimeout } from '../core/values.ts';
import type { FastPathRequest } from './handlers.ts';

const bodyReceiveMsMax = 30_000;

const pauseMsMax = 10_000;
const singleReadBytesMax = 16 * 1024;

export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  return Buffer.concat((await readChunks(request, limits)).chunks);
}

interface BodyLimits {
  bytesMax: number;
  msMax?: number;
  budget?: Pick<ByteReservation, 'reserve'>;
}

export async function readChunks(
  request: FastPathRequest,
  limits: BodyLimits,
): Promise<{ chunks: Uint8Array[]; size: number }> {
  try {
    return await receiveChunks(request, limits);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError')
      throw fail('request_timeout', {
        detail: 'The connection was closed before the whole body was received.',
      });
    throw error;
  }
}

async function receiveChunks(request: FastPathRequest, limits: BodyLimits): ReturnType<typeof readChunks> {
  const encoding = request.headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw fail('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' });
  }
  const contentLength = Number(request.headers.get('content-length') ?? 0);
  if (contentLength > limits.bytesMax) throw payloadTooLargeError(limits.bytesMax);
  const { received } = request;
  if (received) return { chunks: received.length === 0 ? [] : [received], size: received.length };
  if (request.body === null) return { chunks: [], size: 0 };
  if (contentLength > 0 && contentLength <= singleReadBytesMax) {
    // A small body has usually arrived already; reading it in chunks would cost more than the rest of the request.
    const bytes = await withTimeout(request.bytes(), limits.msMax ?? pauseMsMax, timeoutError);
    if (bytes.byteLength > limits.bytesMax) throw payloadTooLargeError(limits.bytesMax);
    return { chunks: [bytes], size: bytes.byteLength };
  }
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let msLeft = limits.msMax ?? bodyReceiveMsMax;
  try {
    for (;;) {
      const startedAt = performance.now();
      const { done, value } = await withTimeout(reader.read(), Math.min(msLeft, pauseMsMax), timeoutError);
      // Only the client's time counts, not the wait for memory below.
      msLeft -= performance.now() - startedAt;
      if (done) break;
      size += value.byteLength;
      if (size > limits.bytesMax) throw payloadTooLargeError(limits.bytesMax);
      await limits.budget?.reserve(value.byteLength);
      chunks.push(value);
    }
  } catch (error) {
    // Not awaited: it may never settle when the client has stopped sending.
    reader.cancel().catch(() => {});
    throw error;
  }
  return { chunks, size };
}

const timeoutError = () => fail('request_timeout');

/** Accepts exactly one JSON text in UTF-8 with this content type: leniency lets two parsers disagree. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const bytes = await readBody(request, { bytesMax });
  if (bytes.byteLength === 0) return undefined;
  if (!/^application\/json(?:; ?charset="?utf-8"?)?$/i.test(request.headers.get('content-type') ?? '')) {
    throw fail('unsupported_media_type', { detail: 'Send the body as Content-Type: application/json.' });
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch (error) {
    throw fail('malformed_json', {}, { cause: error });
  }
}

function payloadTooLargeError(bytesMax: number) {
  return fail('payload_too_large', { detail: `The body may have at most ${bytesMax} bytes.` });
}

/** The oldest request never waits, so that one always proceeds. One owner gets at most half. */
export interface ByteBudget {
  open(owner: string): ByteReservation;
}

export interface ByteReservation {
  reserve(bytes: number): Promise<void>;
  close(): void;
}

export function createByteBudget(options: { bytesMax: number; waitMsMax: number }): ByteBudget {
  const reservations = new Set<{ owner: string; bytes: number }>();
  const waiting = new Set<() => boolean>();
  let total = 0;

  return {
    open(owner) {
      const reservation = { owner, bytes: 0 };
      reservations.add(reservation);
      const isFirst = () => reservations.values().next().value === reservation;
      const fits = (bytes: number) => {
        if (isFirst()) return true;
        const own = [...reservations].filter((each) => each.owner === owner);
        const ownBytes = own.reduce((sum, each) => sum + each.bytes, bytes);
        return (
          total + bytes <= options.bytesMax && (own[0] === reservation || ownBytes <= options.bytesMax / 2)
        );
      };
      const add = (bytes: number) => {
        reservation.bytes += bytes;
        total += bytes;
      };
      return {
        async reserve(bytes) {
          if (fits(bytes)) return add(bytes);
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          const retry = () => {
            if (!fits(bytes)) return false;
            add(bytes);
            resolve();
            return true;
          };
          waiting.add(retry);
          const timer = setTimeout(() => {
            waiting.delete(retry);
            const detail = 'The server is receiving too much data. Try again later.';
            reject(fail('unavailable', { detail }));
          }, options.waitMsMax);
          await promise.finally(() => clearTimeout(timer));
        },
        close() {
          if (!reservations.delete(reservation)) return;
          total -= reservation.bytes;
          for (const retry of waiting) if (retry()) waiting.delete(retry);
        },
      };
    },
  };
}

const idleMsMax = 30_000;
const keepAliveMs = 10_000;

/** The body of a response: each piece that the client takes extends the time of the request. */
export function extendOnRead(
  body: ReadableStream<Uint8Array>,
  extendTimeout: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        extendTimeout();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

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
      const { done, value } = await withTimeout(reader.read(), msLeft, timeoutError).catch((cause) => {
        throw fail('request_timeout', {}, { cause });
      });
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
