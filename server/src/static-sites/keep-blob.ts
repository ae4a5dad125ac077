import type { Logger } from 'pino';
import { Failure, fail } from '../plumbing/problem.ts';
import { keysOfBlob } from './blob-key.ts';
import { findExpected, insertBlobRow } from './blob-store.ts';
import { type Blob, storeBlob } from './store-blob.ts';
import type { UploadParts } from './uploads-handler.ts';

interface Kept extends Omit<Blob, 'blobId'> {
  /** The draft that they are for. */
  releaseId: string;
  log: Logger;
  /** Throws where the bytes are not to be kept after all. */
  confirm: () => Promise<unknown>;
}

/**
 * First the bytes, then the row that stands for them: what has a row is there. Bytes that no row follows are taken away,
 * or found by the sweep. False where another upload of the same was first.
 */
export async function keepBlob(
  parts: Pick<UploadParts, 'db' | 'objects' | 'now'>,
  { releaseId, log, confirm, ...kept }: Kept,
): Promise<boolean> {
  const { place, sha256, size } = kept;
  const blobId = Bun.randomUUIDv7();
  const takeAway = async () => {
    for (const key of keysOfBlob(place, { blob_id: blobId, gzip_size: 0, brotli_size: 0 }))
      await parts.objects
        .delete(key)
        .catch((error: unknown) =>
          log.warn({ err: error, key }, 'a file of a release is left for the sweep'),
        );
  };
  try {
    const stored = await storeBlob(parts.objects, { ...kept, blobId });
    await confirm();
    const row = {
      ...{ app_id: place.appId, tenant_id: place.tenantId, sha256, size },
      ...{ ...stored, stored_at: parts.now() },
    };
    if (await insertBlobRow(parts.db, row, releaseId)) return true;
    await takeAway();
  } catch (error) {
    // Only where it is certain that no row stands for them: a connection that was lost may have lost the answer alone.
    if (error instanceof Failure) await takeAway();
    throw error;
  }
  const now = await findExpected(parts.db, place, { releaseId, sha256 });
  if (now?.state !== 'draft') throw fail('release_not_draft');
  return false;
}
