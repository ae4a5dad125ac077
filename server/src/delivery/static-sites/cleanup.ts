import { draftHoursMax, releaseName, retainedReleasesMax } from '@svc/contract/static-sites.ts';
import { z } from 'zod';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { isUuid } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { allBlobsPrefix, appBlobsPrefix, blobKeys } from './blobs.ts';
import {
  deleteBlobRows,
  deleteFileRows,
  deleteUnusedBlobRows,
  listBlobs,
  listEndedReleasesWithFiles,
  type StoredBlob,
} from './file-store.ts';
import { expireReleases } from './pointers.ts';
import { listAppsToCleanUp, listLiveReleaseRows, listReleaseIds, updateReleaseRow } from './release-store.ts';
import { lockSiteRow } from './site-store.ts';

const RemovalPayload = z.object({ keys: z.array(z.string()) });
const keysMax = 300;

/** Caller must have deleted the rows. Keys are never reused. */
function enqueueBlobRemoval(ctx: Pick<MutationCtx, 'enqueue'>, ref: AppRef, blobs: readonly StoredBlob[]) {
  const keys = blobs.flatMap((blob) => blobKeys(ref, blob));
  for (let at = 0; at < keys.length; at += keysMax)
    ctx.enqueue('static.removeBlobs', { keys: keys.slice(at, at + keysMax) });
}

export function removeBlobs({ objects }: { objects: ObjectStore }): EffectHandler {
  return async (payload) => {
    for (const key of RemovalPayload.parse(payload).keys) await objects.delete(key);
  };
}

/** No upload takes this long from its first byte to its row: older objects without a row are orphans. */
const orphanAfterMs = 24 * 3_600_000;

export async function removeOrphanObjects({ db, objects, now }: { db: Db; objects: ObjectStore; now: Date }) {
  const before = now.getTime() - orphanAfterMs;
  // Keys are sorted, so those of one app are adjacent: its blobs are loaded once.
  let loaded = '';
  let known = new Set<string>();
  for await (const { key, modifiedAt } of objects.list(allBlobsPrefix)) {
    if (modifiedAt.getTime() >= before) continue;
    const ref = parseAppRef(key);
    const current = ref ? `${ref.tenantId} ${ref.appId}` : '';
    if (current !== loaded) {
      known = new Set(ref ? (await listBlobs(db, ref)).flatMap((blob) => blobKeys(ref, blob)) : []);
      loaded = current;
    }
    if (!known.has(key)) await objects.delete(key);
  }
}

function parseAppRef(key: string): AppRef | null {
  const [tenantId = '', appId = ''] = key.slice(allBlobsPrefix.length).split('/');
  return isUuid(tenantId) && isUuid(appId) ? { tenantId, appId } : null;
}

const blobBatchSize = 2_000;

export async function cleanUpReleases(deps: OperatorDeps, { now }: { now: Date }): Promise<void> {
  const before = new Date(now.getTime() - draftHoursMax * 3_600_000);
  for (const ref of await listAppsToCleanUp(deps.db, { before, retainedMax: retainedReleasesMax })) {
    await cleanUpSite(deps, ref, { before }).catch((error: unknown) =>
      deps.log.error({ err: error, app: ref.appId }, 'release cleanup failed'),
    );
  }
}

/** In several transactions, so that a concurrent deployment waits for only one of them. */
export async function cleanUpSite(deps: OperatorDeps, ref: AppRef, { before }: { before: Date }) {
  const run = <T>(name: string, useCase: (ctx: MutationCtx) => Promise<T>) =>
    runAsOperator(deps, { name, auditTenantId: ref.tenantId }, useCase);
  await run('releases.expire', (ctx) => endOldReleases(ctx, ref, { before }));
  let ended: string[] | null = null;
  while (ended === null) ended = await run('releases.sweep', (ctx) => deleteUnusedBlobs(ctx, ref));
  for (const id of ended) await run('releases.sweep', (ctx) => deleteFileRows(ctx.db, ref, id));
}

async function endOldReleases(ctx: MutationCtx, ref: AppRef, { before }: { before: Date }): Promise<void> {
  if (!(await lockSiteRow(ctx.db, ref))) return;
  const abandoned = (await listLiveReleaseRows(ctx.db, ref)).filter(
    ({ state, created_at }) => state === 'draft' && created_at < before,
  );
  // Waits for a running upload of the draft; later uploads are rejected.
  for (const release of abandoned) await updateReleaseRow(ctx.db, release, { state: 'abandoned' });
  const expired = await expireReleases(ctx, ref);
  ctx.audit({
    action: 'releases.expire',
    appId: ref.appId,
    target: { kind: 'site', id: ref.appId, name: ref.appId },
    before: {},
    after: {
      ...(abandoned.length > 0 ? { abandoned: abandoned.map(releaseName) } : {}),
      ...(expired.length > 0 ? { expired } : {}),
    },
  });
}

/** Null while there may be more blobs to delete. */
async function deleteUnusedBlobs(ctx: MutationCtx, ref: AppRef): Promise<string[] | null> {
  if (!(await lockSiteRow(ctx.db, ref))) return [];
  const blobs = await deleteUnusedBlobRows(ctx.db, ref, blobBatchSize);
  enqueueBlobRemoval(ctx, ref, blobs);
  return blobs.length === blobBatchSize ? null : listEndedReleasesWithFiles(ctx.db, ref);
}

export async function purgeStaticSite(ctx: Pick<MutationCtx, 'db' | 'enqueue'>, { tenantId, appId }: AppRef) {
  const ref = { tenantId, appId };
  if (!(await lockSiteRow(ctx.db, ref))) return { releases: 0, release_files: 0, release_bytes: 0 };
  const releases = await listReleaseIds(ctx.db, ref);
  // One statement for each release, because of the statement timeout.
  for (const id of releases) await deleteFileRows(ctx.db, ref, id);
  const { files, bytes } = await deleteBlobRows(ctx.db, ref);
  ctx.enqueue('static.discardApp', ref);
  return { releases: releases.length, release_files: files, release_bytes: bytes };
}

export function removeSiteObjects({ objects }: { objects: ObjectStore }): EffectHandler {
  return async (payload) => {
    const ref = payload as unknown as AppRef;
    for await (const { key } of objects.list(appBlobsPrefix(ref))) await objects.delete(key);
  };
}
