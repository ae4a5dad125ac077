import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { Failure, fail } from '../../core/problem.ts';
import { sha256 as sha256Of } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { ReleaseState } from './release-store.ts';

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

interface BlobRow {
  app_id: string;
  tenant_id: string;
  sha256: string;
  size: number;
  blob_id: string;
  gzip_size: number | null;
  brotli_size: number | null;
  stored_at: Date;
}
export type StoredBlob = Pick<BlobRow, 'blob_id' | 'gzip_size' | 'brotli_size'>;

export async function listBlobSizes(db: Db, { tenantId, appId }: AppRef, digests: readonly string[]) {
  const { rows } = await sql<Pick<BlobRow, 'sha256' | 'size'>>`
    select sha256, size from svc.static_blobs
    where tenant_id = ${tenantId} and app_id = ${appId} and sha256 = any(${digests}::text[])`.execute(db);
  return new Map(rows.map(({ sha256, size }) => [sha256, size]));
}

interface ExpectedBlob {
  state: ReleaseState;
  size: number | null;
  stored: number | null;
}

export async function findExpectedBlob(
  db: Db,
  { tenantId, appId }: AppRef,
  { releaseId, sha256 }: { releaseId: string; sha256: string },
): Promise<ExpectedBlob | undefined> {
  const { rows } = await sql<ExpectedBlob>`
    select r.state,
      (select f.size from svc.static_files f where f.release_id = r.id and f.sha256 = ${sha256} limit 1) as size,
      (select b.size from svc.static_blobs b where b.app_id = r.app_id and b.sha256 = ${sha256}) as stored
    from svc.static_releases r
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and r.id = ${releaseId}`.execute(db);
  return rows[0];
}

/** The lock keeps the release a draft, so that the cleanup finds every stored blob by a release. */
export async function insertBlobRow(db: Db, row: BlobRow, releaseId: string): Promise<boolean> {
  const { rows } = await sql`
    with draft as (
      select r.id from svc.static_releases r
      where r.tenant_id = ${row.tenant_id} and r.app_id = ${row.app_id} and r.id = ${releaseId} and r.state = 'draft'
      for share)
    insert into svc.static_blobs
      (app_id, tenant_id, sha256, size, blob_id, gzip_size, brotli_size, stored_at)
    select ${row.app_id}, ${row.tenant_id}, ${row.sha256}, ${row.size}::bigint, ${row.blob_id}::uuid,
      ${row.gzip_size}::bigint, ${row.brotli_size}::bigint, ${row.stored_at}::timestamptz from draft
    on conflict do nothing returning blob_id`.execute(db);
  return rows.length > 0;
}

/** Caller must hold the site's row lock. */
export async function deleteUnusedBlobRows(tx: Tx, { tenantId, appId }: AppRef, limit: number) {
  const { rows } = await sql<StoredBlob>`
    delete from svc.static_blobs where tenant_id = ${tenantId} and app_id = ${appId} and sha256 in (
      select b.sha256 from svc.static_blobs b
      where b.tenant_id = ${tenantId} and b.app_id = ${appId} and not exists (
        select from svc.static_files f join svc.static_releases r on r.id = f.release_id
        where f.sha256 = b.sha256 and r.app_id = ${appId} and r.state in ('draft', 'finalized'))
      limit ${limit})
    returning blob_id, gzip_size, brotli_size`.execute(tx);
  return rows;
}

export async function listBlobs(db: Db, { tenantId, appId }: AppRef): Promise<StoredBlob[]> {
  const { rows } = await sql<StoredBlob>`
    select blob_id, gzip_size, brotli_size from svc.static_blobs
    where tenant_id = ${tenantId} and app_id = ${appId}`.execute(db);
  return rows;
}

export async function deleteBlobRows(tx: Tx, { tenantId, appId }: AppRef) {
  const { rows } = await sql<{ files: number; bytes: number }>`
    with gone as (delete from svc.static_blobs where tenant_id = ${tenantId} and app_id = ${appId} returning size)
    select count(*) as files, coalesce(sum(size), 0)::bigint as bytes from gone`.execute(tx);
  return rows[0] ?? { files: 0, bytes: 0 };
}
