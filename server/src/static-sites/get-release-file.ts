import { releaseTextBytesMax } from '@svc/contract/static-sites.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { waitsForReview } from '../review/waits-for-review.ts';
import { blobKey } from './blob-key.ts';
import { findStoredFile } from './file-store.ts';
import { findReleaseRow } from './release-store.ts';
import { mayReadFiles } from './rules.ts';
import { findSiteRow } from './site-store.ts';

/** As text inside JSON: whatever the file is, no browser takes the answer for a page of ours. */
export async function getReleaseFile(
  ctx: AppCtx,
  { id, path }: { id: string; path: string },
  { objects }: { objects: Pick<ObjectStore, 'get'> },
) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const release = await findReleaseRow(ctx.db, place, id);
  if (!release) throw fail('not_found');
  const waits = await waitsForReview(ctx, place, id);
  if (!mayReadFiles(ctx.app, await findSiteRow(ctx.db, place), { ...release, waits }))
    throw fail('forbidden', {
      detail:
        'Admins read files of what is staged, waits for a review or is shown beyond the owners; owners read them all.',
    });
  const file = await findStoredFile(ctx.db, place, { releaseId: id, path });
  if (!file) throw fail('not_found');
  const { sha256, size } = file;
  const text = size > releaseTextBytesMax ? null : await textAt(objects, blobKey(place, file.blob_id));
  return { path, sha256, size, text };
}

async function textAt(objects: Pick<ObjectStore, 'get'>, key: string): Promise<string | null> {
  const found = await objects.get(key);
  if (!found) throw fail('unavailable', {}, { cause: new Error(`The store has no ${key}.`) });
  const bytes = await new Response(found.body).bytes();
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
