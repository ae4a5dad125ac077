import { draftHoursMax, releasesKeptMax } from '@svc/contract/static-sites.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import { deleteUnusedBlobRows } from './blob-store.ts';
import { discardBlobs } from './discard-blobs.ts';
import { expireReleases } from './expire-releases.ts';
import { deleteFileRows, listDeadReleasesWithFiles } from './file-store.ts';
import { listLiveReleaseRows, listPlacesToSweep, updateReleaseRow } from './release-store.ts';
import { releaseName } from './rules.ts';
import { type AppPlace, lockSiteRow } from './site-store.ts';

/** Well within the time that a statement has. */
const blobsAtOnce = 2_000;

/** Drafts that were given up, releases beyond those that are kept, and what only they had. */
export async function sweepReleases(parts: OperatorParts, { now }: { now: Date }): Promise<void> {
  const before = new Date(now.getTime() - draftHoursMax * 3_600_000);
  for (const place of await listPlacesToSweep(parts.db, { before, keptMax: releasesKeptMax })) {
    // One site's trouble is not the others'.
    await sweepSite(parts, place, { before }).catch((error: unknown) =>
      parts.log.error({ err: error, app: place.appId }, 'could not sweep the releases of a site'),
    );
  }
}

/** In steps of their own, so that whoever deploys meanwhile waits for one of them at most. */
export async function sweepSite(
  parts: OperatorParts,
  place: AppPlace,
  { before }: { before: Date },
): Promise<void> {
  const run = <T>(name: string, verb: (ctx: MutationCtx) => Promise<T>) =>
    asOperator(parts, { name, auditTenantId: place.tenantId }, verb);
  await run('releases.expire', (ctx) => endReleases(ctx, place, { before }));
  let dead: string[] | null = null;
  while (dead === null) dead = await run('releases.sweep', (ctx) => sweepBlobs(ctx, place));
  for (const id of dead) await run('releases.sweep', (ctx) => deleteFileRows(ctx.db, place, id));
}

async function endReleases(ctx: MutationCtx, place: AppPlace, { before }: { before: Date }): Promise<void> {
  if (!(await lockSiteRow(ctx.db, place))) return;
  const abandoned = (await listLiveReleaseRows(ctx.db, place)).filter(
    ({ state, created_at }) => state === 'draft' && created_at < before,
  );
  // Waits for a file that is just being stored; from then on none is taken for it.
  for (const { id } of abandoned) await updateReleaseRow(ctx.db, place, { id, set: { state: 'abandoned' } });
  const expired = await expireReleases(ctx, place);
  ctx.audit({
    action: 'releases.expire',
    appId: place.appId,
    target: { kind: 'site', id: place.appId, name: place.appId },
    before: {},
    after: {
      ...(abandoned.length > 0 ? { abandoned: abandoned.map(releaseName) } : {}),
      ...(expired.length > 0 ? { expired } : {}),
    },
  });
}

/**
 * The releases whose lists are not needed any more; null while there may be more bytes. Only those that had ended by now: by
 * the list of one that ends later its bytes are found.
 */
async function sweepBlobs(ctx: MutationCtx, place: AppPlace): Promise<string[] | null> {
  // Whoever begins or ends a release does it under the same lock.
  if (!(await lockSiteRow(ctx.db, place))) return [];
  const blobs = await deleteUnusedBlobRows(ctx.db, place, blobsAtOnce);
  discardBlobs(ctx, place, blobs);
  return blobs.length === blobsAtOnce ? null : listDeadReleasesWithFiles(ctx.db, place);
}
