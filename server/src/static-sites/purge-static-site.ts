import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { blobPrefix } from './blob-key.ts';
import { deleteBlobRows } from './blob-store.ts';
import { deleteFileRows } from './file-store.ts';
import { listReleaseIds } from './release-store.ts';
import { type AppPlace, lockSiteRow } from './site-store.ts';

/** Everything of a site whose app is to be no more; how much that was. The rest of its rows goes with the app's. */
export async function purgeStaticSite(
  ctx: Pick<MutationCtx, 'db' | 'enqueue'>,
  { tenantId, appId }: AppPlace,
): Promise<{ releases: number; release_files: number; release_bytes: number }> {
  const place = { tenantId, appId };
  if (!(await lockSiteRow(ctx.db, place))) return { releases: 0, release_files: 0, release_bytes: 0 };
  const releases = await listReleaseIds(ctx.db, place);
  // One by one: all at once could take longer than a statement may.
  for (const id of releases) await deleteFileRows(ctx.db, place, id);
  const { files, bytes } = await deleteBlobRows(ctx.db, place);
  ctx.enqueue('static.discardApp', place);
  return { releases: releases.length, release_files: files, release_bytes: bytes };
}

export function removeFilesOfSite({ objects }: { objects: ObjectStore }): Effect {
  return async (payload) => {
    const place = payload as unknown as AppPlace;
    for await (const { key } of objects.list(blobPrefix(place))) await objects.delete(key);
  };
}
