import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { blobKey } from './rules.ts';
import { isBlobUsed } from './store.ts';

/** The bytes of an object that is no more go once that is settled, unless a copy has them too. */
export function discardBlob(ctx: Pick<MutationCtx, 'enqueue'>, place: AppPlace, blobId: string): void {
  ctx.enqueue('storage.discardBlob', { ...place, blobId });
}

/** Bytes that no object has are never had by one again: only who has them hands them on. */
export function removeBlob({ db, objects }: { db: Db; objects: ObjectStore }): Effect {
  return async (payload) => {
    const { blobId, ...place } = payload as unknown as AppPlace & { blobId: string };
    if (!(await isBlobUsed(db, place, blobId))) await objects.delete(blobKey(place, blobId));
  };
}
