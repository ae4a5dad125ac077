import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { sha256 as sha256Of } from '../plumbing/canonical.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { blobKey } from './blob-key.ts';
import type { StoredBlob } from './blob-store.ts';
import { type Compressed, compress, compressedBytesMax } from './compress.ts';
import { inTurn } from './in-turn.ts';
import type { AppPlace } from './site-store.ts';

export interface Blob {
  place: AppPlace;
  blobId: string;
  /** What the bytes have to be. */
  sha256: string;
  size: number;
  pieces: AsyncIterable<Uint8Array>;
}

/** As much of each body may be in memory; more of it goes to the store as it comes, so that slow senders cost nothing. */
const collectedBytesMax = 64 * 1024;

/** The bytes and their compressed forms. What fails may leave some of them. */
export async function storeBlob(objects: ObjectStore, blob: Blob): Promise<StoredBlob> {
  return blob.size <= collectedBytesMax ? storeCollected(objects, blob) : storeStreamed(objects, blob);
}

async function storeCollected(objects: ObjectStore, blob: Blob): Promise<StoredBlob> {
  const bytes = await collect(blob.pieces, blob.size);
  requireSame(blob, { size: bytes.byteLength, sha256: sha256Of(bytes) });
  return storeForms(objects, blob, { identity: bytes, ...(await compress(bytes)) });
}

async function storeStreamed(objects: ObjectStore, blob: Blob): Promise<StoredBlob> {
  const { place, blobId, size } = blob;
  const key = blobKey(place, blobId);
  const stored = await objects.put(key, blob.pieces, { bytesMax: size }).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'payload_too_large') throw tooMany(size);
    throw error;
  });
  requireSame(blob, stored);
  if (size > compressedBytesMax) return { blob_id: blobId, gzip_size: null, brotli_size: null };
  return inTurn(async () => {
    const there = await objects.get(key);
    if (!there) throw fail('unavailable', { detail: 'What was stored a moment ago is not there.' });
    return storeForms(objects, blob, await compress(await collect(there.body, size)));
  });
}

async function storeForms(
  objects: ObjectStore,
  { place, blobId }: Blob,
  forms: Compressed & { identity?: Uint8Array },
): Promise<StoredBlob> {
  const { identity, gzip, br } = forms;
  const puts = Object.entries({ identity, gzip, br } as const).map(async ([encoding, form]) => {
    const key = blobKey(place, blobId, encoding as keyof typeof forms);
    if (form) await objects.put(key, once(form), { bytesMax: form.byteLength });
  });
  // Each has ended before any is taken away.
  const failed = (await Promise.allSettled(puts)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return { blob_id: blobId, gzip_size: gzip?.byteLength ?? null, brotli_size: br?.byteLength ?? null };
}

async function collect(pieces: AsyncIterable<Uint8Array>, size: number): Promise<Uint8Array> {
  const whole = new Uint8Array(size);
  let length = 0;
  for await (const piece of pieces) {
    if (length + piece.byteLength > size) throw tooMany(size);
    whole.set(piece, length);
    length += piece.byteLength;
  }
  return whole.subarray(0, length);
}

function requireSame(wanted: Blob, came: { size: number; sha256: string }): void {
  if (came.size !== wanted.size) throw mismatch(`are ${came.size} and not ${wanted.size} bytes`);
  if (came.sha256 !== wanted.sha256) throw mismatch('have another sum');
}

const tooMany = (size: number) => mismatch(`are more than ${size} bytes`);

export function mismatch(what: string): Failure {
  return fail('digest_mismatch', { detail: `The bytes ${what}; nothing of them is kept.` });
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
