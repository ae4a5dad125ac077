import type { Promotion, Release, Site, diffRelease as shape } from '@svc/contract/static-sites.shapes.ts';
import { releaseTextBytesMax } from '@svc/contract/static-sites.ts';
import type { z } from 'zod';
import type { AppCtx, AppMutationCtx, AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { blobKey } from './blobs.ts';
import { countFileChanges, findStoredFile, listFileChanges, listFileRows } from './file-store.ts';
import { findRunningProcess } from './live-events.ts';
import type { LockedRelease } from './pointers.ts';
import { findReleaseRow, listReleaseRows, type ReleaseRow } from './release-store.ts';
import {
  canReadFiles,
  type Pointer,
  type Pointers,
  pointedReleaseId,
  releaseDigest,
  releaseRoles,
  type SiteUrls,
  siteUrl,
} from './rules.ts';
import {
  findLatestPromotionRow,
  findOpenPromotionRow,
  findSiteRow,
  type PromotionRow,
} from './site-store.ts';

export async function getRelease(ctx: AppCtx, { id }: { id: string }): Promise<ReleaseRecord> {
  const ref = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const row = orNotFound(await findReleaseRow(ctx.db, ref, id));
  return releaseRecord(row, {
    site: await findSiteRow(ctx.db, ref),
    open: await findOpenPromotionRow(ctx.db, ref),
  });
}

export async function listReleases(ctx: AppCtx, query: PageQuery) {
  const ref = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const { rows, total } = await listReleaseRows(ctx.db, ref, pageWindow(query));
  const deps = {
    site: await findSiteRow(ctx.db, ref),
    open: await findOpenPromotionRow(ctx.db, ref),
  };
  return toPage(
    query,
    rows.map((row) => releaseRecord(row, deps)),
    total,
  );
}

export async function listReleaseFiles(ctx: AppCtx, { id, ...query }: { id: string } & PageQuery) {
  const ref = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  if (!(await findReleaseRow(ctx.db, ref, id))) throw fail('not_found');
  const { rows, total } = await listFileRows(ctx.db, ref, { releaseId: id, ...pageWindow(query) });
  return toPage(query, rows, total);
}

export interface ReleaseFileDeps {
  objects: Pick<ObjectStore, 'get'>;
  isUnderReview: (ctx: AppCtx, app: AppRef, releaseId: string) => Promise<boolean>;
}

/** Returns text inside JSON, so that no browser renders an uploaded file as a page of the platform. */
export async function getReleaseFile(
  ctx: AppCtx,
  { id, path }: { id: string; path: string },
  deps: ReleaseFileDeps,
) {
  const ref = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const release = orNotFound(await findReleaseRow(ctx.db, ref, id));
  const isUnderReview = await deps.isUnderReview(ctx, ref, id);
  if (!canReadFiles(ctx.app, await findSiteRow(ctx.db, ref), { ...release, isUnderReview }))
    throw fail('forbidden', {
      detail:
        'Admins can read files only of releases that are staged, under review or visible beyond the owners.',
    });
  const file = orNotFound(await findStoredFile(ctx.db, ref, { releaseId: id, path }));
  const { sha256, size } = file;
  const text = size > releaseTextBytesMax ? null : await readText(deps.objects, blobKey(ref, file.blob_id));
  return { path, sha256, size, text };
}

async function readText(objects: Pick<ObjectStore, 'get'>, key: string): Promise<string | null> {
  const found = await objects.get(key);
  if (!found) throw fail('unavailable', {}, { cause: new Error(`Object ${key} is missing.`) });
  const bytes = await new Response(found.body).bytes();
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

export async function diffRelease(
  ctx: AppCtx,
  { id, against: requested, change, ...query }: { id: string } & z.output<typeof shape.query>,
) {
  const ref = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  for (const release of [id, requested])
    if (release !== undefined && !(await findReleaseRow(ctx.db, ref, release))) throw fail('not_found');
  const against = requested ?? (await findPublishedReleaseId(ctx)) ?? null;
  const pair = { release: id, against };
  const counts = await countFileChanges(ctx.db, ref, pair);
  const items = await listFileChanges(ctx.db, ref, { ...pair, change, ...pageWindow(query) });
  const { added, removed, changed, same } = counts;
  const different = added + removed + changed;
  const total = change === undefined ? different + same : { ...counts, different }[change];
  return { ...toPage(query, items, total), against, counts };
}

async function findPublishedReleaseId(ctx: AppCtx): Promise<string | null | undefined> {
  const site = await findSiteRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id });
  return site?.is_published ? site.active_release_id : null;
}

export interface PointedRelease {
  id: string;
  digest: string;
}

/** Caller must hold the app's row lock. */
export async function findPointedReleases(db: Db, ref: AppRef) {
  const site = await findSiteRow(db, ref);
  if (!site) return { active: null, staged: null };
  const at = async (pointer: Pointer): Promise<PointedRelease | null> => {
    const id = pointedReleaseId(site, pointer);
    const release = id === null ? undefined : await findReleaseRow(db, ref, id);
    return release?.state === 'finalized' ? { id: release.id, digest: releaseDigest(release) } : null;
  };
  return {
    active: site.is_published ? await at('active') : null,
    staged: site.staging_enabled ? await at('staged') : null,
  };
}

/** For other slices, which must not import the store. */
export const findRelease: typeof findReleaseRow = findReleaseRow;

export async function compareReleases(
  db: Db,
  ref: AppRef,
  { limit, ...pair }: { release: string; against: string | null; limit: number },
) {
  const counts = await countFileChanges(db, ref, pair);
  const items = await listFileChanges(db, ref, { ...pair, change: 'different', limit, offset: 0 });
  return { counts, items };
}

type ReleaseRecord = z.output<typeof Release>;
export function releaseRecord(
  row: ReleaseRow,
  { site, open }: { site: Pointers | undefined; open: Pick<PromotionRow, 'release_id'> | undefined },
): ReleaseRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    number: row.number,
    version: row.version,
    state: row.state,
    roles: releaseRoles(site, open, row),
    files: row.files,
    bytes: row.bytes,
    digest: releaseDigest(row),
    config: { ...row.served_config },
    on_finalize: row.on_finalize,
    reviewed_for: row.reviewed_for,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    finalized_at: row.finalized_at?.toISOString() ?? null,
    activated_at: row.activated_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

export function promotionRecord(row: PromotionRow): z.output<typeof Promotion> {
  return {
    id: row.id,
    release_id: row.release_id,
    digest: row.digest,
    status: row.status,
    note: row.note,
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    decided_by: row.decided_by,
    decided_at: row.decided_at?.toISOString() ?? null,
    reason: row.reason,
  };
}

export type SiteRecord = z.output<typeof Site>;

export async function siteRecord(db: Db, ref: AppRef, subdomain: string | null, urls: SiteUrls) {
  const site = await findSiteRow(db, ref);
  const open = await findOpenPromotionRow(db, ref);
  const latest = await findLatestPromotionRow(db, ref);
  const record = async (id: string | null | undefined) => {
    const row = id ? await findReleaseRow(db, ref, id) : undefined;
    return row ? releaseRecord(row, { site, open }) : null;
  };
  return {
    app_id: ref.appId,
    url: siteUrl(urls, subdomain, 'active'),
    staging_url: site?.staging_enabled ? siteUrl(urls, subdomain, 'staged') : null,
    published: site?.is_published ?? false,
    staging_enabled: site?.staging_enabled ?? false,
    config: { ...site?.config },
    generation: site?.generation ?? 0,
    active_release: await record(site?.active_release_id),
    staged_release: await record(site?.staged_release_id),
    promotion: latest ? promotionRecord(latest) : null,
    updated_at: site?.updated_at.toISOString() ?? null,
  };
}

export async function movedReleaseRecord(
  ctx: AppMutationCtx,
  { app, ref, release }: Pick<LockedRelease, 'app' | 'ref' | 'release'>,
  { pointer, urls }: { pointer: Pointer | null; urls: SiteUrls },
) {
  const site = await findSiteRow(ctx.db, ref);
  const open = await findOpenPromotionRow(ctx.db, ref);
  const row = (await findReleaseRow(ctx.db, ref, release.id)) ?? release;
  const isCovered = pointer === 'active' && (await findRunningProcess(ctx, ref)) !== undefined;
  const url = pointer && !isCovered ? siteUrl(urls, app.subdomain, pointer) : null;
  return { ...releaseRecord(row, { site, open }), pointer, url };
}

export async function unchangedReleaseRecord(...args: Parameters<typeof movedReleaseRecord>) {
  return { ...(await movedReleaseRecord(...args)), changed: false as const };
}
