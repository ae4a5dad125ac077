import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { blobKey } from './rules.ts';
import { deleteUploadRow, lockUploadRow } from './store.ts';

/**
 * The rest of an upload that came to nothing. Its row is gone exactly when it did come to something, also where nobody
 * heard of that, so the row is asked first, and whoever is about to end the upload is waited for.
 */
export async function discardUpload(
  { db, objects }: { db: Db; objects: ObjectStore },
  place: AppPlace,
  blobId: string,
): Promise<void> {
  const isOpen = await db.transaction().execute((tx) => lockUploadRow(tx, place, blobId));
  if (!isOpen) return;
  await objects.delete(blobKey(place, blobId));
  // Last, so that the sweep still finds what could not be deleted.
  await deleteUploadRow(db, place, blobId);
}
