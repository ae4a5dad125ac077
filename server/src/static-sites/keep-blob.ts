import { releaseFileBytesMax } from '@svc/contract/site-paths.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { type BlobEncoding, blobKey } from './blob-key.ts';
import { findExpected, insertBlobRow } from './blob-store.ts';
import { compress } from './compress.ts';
import type { AppPlace } from './site-store.ts';
import type { UploadClaims } from './upload-grant.ts';
import type { UploadParts } from './uploads-handler.ts';

interface Kept {
  place: AppPlace;
  claims: UploadClaims;
  sha256: string;
  bytes: Uint8Array;
  info: RequestInfo;
}

/**
 * First the bytes, then the row that stands for them: what has a row is there. Bytes that no row follows are taken away,
 * or found by the sweep. False where another upload of the same was first.
 */
export async function keepBlob(parts: UploadParts, kept: Kept): Promise<boolean> {
  const { place, claims, sha256, bytes, info } = kept;
  const blobId = Bun.randomUUIDv7();
  const { gzip, br } = await compress(bytes);
  const forms: Record<BlobEncoding, Uint8Array | null> = { identity: bytes, gzip, br };
  const stored = Object.entries(forms).flatMap(([encoding, form]) =>
    form ? [{ key: blobKey(place, blobId, encoding as BlobEncoding), form }] : [],
  );
  const takeAway = async () => {
    for (const { key } of stored)
      await parts.objects
        .delete(key)
        .catch((error: unknown) =>
          info.log.warn({ err: error, key }, 'a file of a release is left for the sweep'),
        );
  };
  try {
    const puts = stored.map(({ key, form }) =>
      parts.objects.put(key, once(form), { bytesMax: releaseFileBytesMax }),
    );
    // Each has ended before any is taken away.
    const failed = (await Promise.allSettled(puts)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    const row = {
      ...{ app_id: place.appId, tenant_id: place.tenantId, sha256, size: bytes.byteLength, blob_id: blobId },
      ...{ gzip_size: gzip?.byteLength ?? null, brotli_size: br?.byteLength ?? null, stored_at: parts.now() },
    };
    if (await insertBlobRow(parts.db, row, claims.release)) return true;
    await takeAway();
  } catch (error) {
    // Only where it is certain that no row stands for them: a connection that was lost may have lost the answer alone.
    if (error instanceof Failure) await takeAway();
    throw error;
  }
  const now = await findExpected(parts.db, place, { releaseId: claims.release, sha256 });
  if (now?.state !== 'draft') throw fail('release_not_draft');
  return false;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
