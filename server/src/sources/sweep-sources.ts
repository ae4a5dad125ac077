import type { Logger } from 'pino';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import { sourceKey } from './source-key.ts';
import { deleteUploadRow, listUploadRowsBefore } from './store.ts';

/** A deployment takes its source within minutes; one that waits for a copy of the server has this long. */
const keptMs = 24 * 3_600_000;
const atOnce = 500;

/** First the bytes, then the row that they are found by. */
export async function sweepSources(
  { db, objects, log }: { db: Db; objects: ObjectStore; log: Logger },
  { now }: { now: Date },
): Promise<void> {
  const before = new Date(now.getTime() - keptMs);
  for (const { id, app_id: appId, tenant_id: tenantId } of await listUploadRowsBefore(db, before, atOnce)) {
    const place = { tenantId, appId };
    try {
      await objects.delete(sourceKey(place, id));
      await deleteUploadRow(db, place, id);
    } catch (error) {
      log.warn({ err: error, upload: id }, 'could not sweep the source of a deployment');
    }
  }
}
