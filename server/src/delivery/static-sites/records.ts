import type { Promotion, Release, Site } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { AppMutationCtx, AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { findRunningProcess } from './live-events.ts';
import type { LockedRelease } from './locks.ts';
import { findReleaseRow, type ReleaseRow } from './release-store.ts';
import { type Pointer, type Pointers, releaseDigest, releaseRoles, type SiteUrls, siteUrl } from './rules.ts';
import {
  findLatestPromotionRow,
  findOpenPromotionRow,
  findSiteRow,
  type PromotionRow,
} from './site-store.ts';

export type ReleaseRecord = z.output<typeof Release>;
type PromotionRecord = z.output<typeof Promotion>;

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

export function promotionRecord(row: PromotionRow): PromotionRecord {
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
