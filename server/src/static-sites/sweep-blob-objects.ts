import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';
import { blobsPrefix, keysOfBlob } from './blob-key.ts';
import { listBlobs } from './blob-store.ts';
import type { AppPlace } from './site-store.ts';

/** No upload takes this long from its first byte to its row. */
const orphanAfterMs = 24 * 3_600_000;

/** Bytes that were stored and that no row stands for: their server ended in between, or their app did. */
export async function sweepBlobObjects({
  db,
  objects,
  now,
}: {
  db: Db;
  objects: ObjectStore;
  now: Date;
}): Promise<void> {
  const before = now.getTime() - orphanAfterMs;
  // Keys come in order, so those of an app come together: what is known of it is asked once.
  let of = '';
  let known = new Set<string>();
  for await (const { key, modifiedAt } of objects.list(blobsPrefix)) {
    if (modifiedAt.getTime() >= before) continue;
    const place = placeOf(key);
    const now = place ? `${place.tenantId} ${place.appId}` : '';
    if (now !== of) {
      known = new Set(place ? (await listBlobs(db, place)).flatMap((blob) => keysOfBlob(place, blob)) : []);
      of = now;
    }
    if (!known.has(key)) await objects.delete(key);
  }
}

function placeOf(key: string): AppPlace | null {
  const [tenantId = '', appId = ''] = key.slice(blobsPrefix.length).split('/');
  return isUuid(tenantId) && isUuid(appId) ? { tenantId, appId } : null;
}
