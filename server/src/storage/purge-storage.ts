import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { blobPrefix } from './rules.ts';
import { deleteSomeObjectRows, deleteStorageRow, lockStorageRow } from './store.ts';

/** Everything of an app that is to be no more; how much that was. Uploads under way find nothing to end in. */
export async function purgeStorage(
  ctx: Pick<MutationCtx, 'db' | 'enqueue'>,
  { tenantId, appId }: AppPlace,
): Promise<{ objects: number; bytes: number }> {
  const place = { tenantId, appId };
  const storage = await lockStorageRow(ctx.db, place);
  if (!storage) return { objects: 0, bytes: 0 };
  await deleteStorageRow(ctx.db, place);
  ctx.enqueue('storage.discardApp', place);
  return { objects: storage.objects, bytes: storage.bytes };
}

/** Both may be many: rows in batches, bytes as the store lists them. Interrupted, it goes on where it was. */
export function removeObjectsOfApp({ db, objects }: { db: Db; objects: ObjectStore }): Effect {
  return async (payload) => {
    const place = payload as unknown as AppPlace;
    while (await deleteSomeObjectRows(db, place)) {}
    for await (const { key } of objects.list(blobPrefix(place))) await objects.delete(key);
  };
}
