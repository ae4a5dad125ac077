import type { Logger } from 'pino';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import { discardUpload } from './discard-upload.ts';
import { listUploadRowsBefore } from './store.ts';

/** No upload lives this long. */
const deadAfterMs = 24 * 3_600_000;
const atOnce = 500;

/** What uploads left in the store that ended with their server, or whose end could not be cleaned up. */
export async function forgetUploads(
  parts: { db: Db; objects: ObjectStore; log: Logger },
  { now }: { now: Date },
): Promise<void> {
  const before = new Date(now.getTime() - deadAfterMs);
  for (const { blob_id, app_id, tenant_id } of await listUploadRowsBefore(parts.db, before, atOnce)) {
    const place = { tenantId: tenant_id, appId: app_id };
    await discardUpload(parts, place, blob_id).catch((error: unknown) =>
      parts.log.warn({ err: error, blob: blob_id }, 'could not forget an upload'),
    );
  }
}
