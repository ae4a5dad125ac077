import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { AppRef } from '../../core/context.ts';
import { Failure, fail } from '../../core/problem.ts';
import { sha256 as sha256Of } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { StoredBlob } from './file-store.ts';

export type BlobEncoding = 'identity' | 'gzip' | 'br';

const suffixes = { identity: '', gzip: '.gz', br: '.br' } as const;

export const allBlobsPrefix = 'static/';
export const appBlobsPrefix = ({ tenantId, appId }: AppRef) => `${allBlobsPrefix}${tenantId}/${appId}/`;

export function blobKey(ref: AppRef, blobId: string, encoding: BlobEncoding = 'identity'): string {
  return `${appBlobsPrefix(ref)}${blobId}${suffixes[encoding]}`;
}

export function blobKeys(
  ref: AppRef,
  blob: { blob_id: string; gzip_size: number | null; brotli_size: number | null },
): string[] {
  return [
    blobKey(ref, blob.blob_id),
    ...(blob.gzip_size === null ? [] : [blobKey(ref, blob.blob_id, 'gzip')]),
    ...(blob.brotli_size === null ? [] : [blobKey(ref, blob.blob_id, 'br')]),
  ];
}

export interface UploadedBlob {
  ref: AppRef;
  blobId: string;
  sha256: string;
  size: number;
  chunks: AsyncIterable<Uint8Array>;
}

/** Smaller bodies are buffered; larger ones are streamed to the store, so that slow clients use no memory. */
const bufferedBytesMax = 64 * 1024;

export async function storeBlob(objects: ObjectStore, blob: UploadedBlob): Promise<StoredBlob> {
  return blob.size <= bufferedBytesMax ? storeBuffered(objects, blob) : storeStreamed(objects, blob);
}

async function storeBuffered(objects: ObjectStore, blob: UploadedBlob): Promise<StoredBlob> {
  const bytes = await collect(blob.chunks, blob.size);
  checkDigest(blob, { size: bytes.byteLength, sha256: sha256Of(bytes) });
  return storeEncodings(objects, blob, { identity: bytes, ...(await compress(bytes)) });
}

async function storeStreamed(objects: ObjectStore, blob: UploadedBlob): Promise<StoredBlob> {
  const { ref, blobId, size } = blob;
  const key = blobKey(ref, blobId);
  const stored = await objects.put(key, blob.chunks, { bytesMax: size }).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'payload_too_large') throw tooManyBytesError(size);
    throw error;
  });
  checkDigest(blob, stored);
  if (size > compressedBytesMax) return { blob_id: blobId, gzip_size: null, brotli_size: null };
  return withSlot(async () => {
    const object = await objects.get(key);
    if (!object) throw fail('unavailable', { detail: 'The uploaded file cannot be read back.' });
    return storeEncodings(objects, blob, await compress(await collect(object.body, size)));
  });
}

async function storeEncodings(
  objects: ObjectStore,
  { ref, blobId }: UploadedBlob,
  forms: CompressedForms & { identity?: Uint8Array },
): Promise<StoredBlob> {
  const { identity, gzip, br } = forms;
  const puts = Object.entries({ identity, gzip, br } as const).map(async ([encoding, form]) => {
    const key = blobKey(ref, blobId, encoding as keyof typeof forms);
    if (form) await objects.put(key, singleChunk(form), { bytesMax: form.byteLength });
  });
  // All writes must have ended before the caller deletes the objects.
  const failed = (await Promise.allSettled(puts)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return { blob_id: blobId, gzip_size: gzip?.byteLength ?? null, brotli_size: br?.byteLength ?? null };
}

async function collect(pieces: AsyncIterable<Uint8Array>, size: number): Promise<Uint8Array> {
  const whole = new Uint8Array(size);
  let length = 0;
  for await (const piece of pieces) {
    if (length + piece.byteLength > size) throw tooManyBytesError(size);
    whole.set(piece, length);
    length += piece.byteLength;
  }
  return whole.subarray(0, length);
}

function checkDigest(expected: UploadedBlob, received: { size: number; sha256: string }): void {
  if (received.size !== expected.size)
    throw digestMismatchError(`size is ${received.size} instead of ${expected.size} bytes`);
  if (received.sha256 !== expected.sha256) throw digestMismatchError('digest is wrong');
}

const tooManyBytesError = (size: number) => digestMismatchError(`size is more than ${size} bytes`);

export function digestMismatchError(reason: string): Failure {
  return fail('digest_mismatch', { detail: `The file was not stored: its ${reason}.` });
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Smaller files do not shrink; larger ones take too long. */
const bytesMin = 256;
const compressedBytesMax = 8 * 1024 * 1024;
const ratioMax = 0.9;
/** A sample of this size shows whether a file is compressed already, like images, fonts and archives. */
const sampleBytes = 64 * 1024;
const bestBrotliBytesMax = 1024 * 1024;

const runGzip = promisify(gzip);
const runBrotli = promisify(brotliCompress) as (
  bytes: Uint8Array,
  options: { params: Record<number, number> },
) => Promise<Buffer>;

interface CompressedForms {
  gzip: Uint8Array | null;
  br: Uint8Array | null;
}

export async function compress(bytes: Uint8Array): Promise<CompressedForms> {
  const { byteLength } = bytes;
  if (byteLength < bytesMin || byteLength > compressedBytesMax) return { gzip: null, br: null };
  if (byteLength > sampleBytes) {
    if ((await runGzip(bytes.subarray(0, sampleBytes), { level: 1 })).byteLength > sampleBytes * ratioMax)
      return { gzip: null, br: null };
  }
  const [gzipped, brotli] = await Promise.all([
    runGzip(bytes, { level: 6 }),
    runBrotli(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: byteLength < bestBrotliBytesMax ? 9 : 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: byteLength,
      },
    }),
  ]);
  const ifSmaller = (form: Uint8Array) => (form.byteLength <= byteLength * ratioMax ? form : null);
  return { gzip: ifSmaller(gzipped), br: ifSmaller(brotli) };
}

const concurrentMax = 4;
let running = 0;
const waiting: (() => void)[] = [];

async function withSlot<T>(work: () => Promise<T>): Promise<T> {
  if (running < concurrentMax) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    // The slot passes directly to the next in the queue, so that nobody overtakes.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
