import { mergeSiteConfig, retiredSiteKeys, type SiteConfig } from '@svc/contract/site-config.ts';
import type { setSite as shape } from '@svc/contract/static-sites.shapes.ts';
import { releaseName } from '@svc/contract/static-sites.ts';
import type { z } from 'zod';
import { lockAppFor } from '../../apps/record/app-access.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import { markUndeployed } from '../../apps/record/status-store.ts';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import type { PlanPart } from '../../core/events.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import { publishLiveChange } from './live-events.ts';
import { activeChanged, closeStalePromotion, type LockedSite, lockSite } from './pointers.ts';
import { listLiveReleaseRows, type ReleaseRow, updateReleaseRow } from './release-store.ts';
import { type SiteRecord, siteRecord } from './releases.ts';
import { checkConfigSize, type SiteUrls, selectReconfigured, siteUrl } from './rules.ts';
import {
  closePromotionRow,
  findOpenPromotionRow,
  listRequestedReleaseIds,
  lockSiteRow,
  updateSiteRow,
} from './site-store.ts';

export async function getSite(ctx: AppCtx, urls: SiteUrls): Promise<SiteRecord> {
  const app = await findAppById(ctx, { id: ctx.app.id });
  return siteRecord(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, app?.subdomain ?? null, urls);
}

export async function setSite(ctx: AppMutationCtx, body: z.output<typeof shape.body>, urls: SiteUrls) {
  const { config, ignored } = removeRetiredKeys(body);
  checkConfigSize(config, 'body');
  const locked = await lockSite(ctx, { required: 'owners' });
  const { app, ref, site } = locked;
  const isChanged = !isDeepEqual(config, site.config);
  const applied = isChanged ? await applyConfig(ctx, locked, config) : noConfigChange;
  const notices = [...ignored, ...applied.notices];
  for (const notice of notices) ctx.warn(notice);
  ctx.audit({
    ...siteEntry('sites.set', app),
    before: { ...site.config, ...applied.before },
    after: { ...config, ...applied.after },
  });
  const answer = {
    ...(await siteRecord(ctx.db, ref, app.subdomain, urls)),
    ...(notices.length > 0 ? { notices } : {}),
  };
  return isChanged ? answer : { ...answer, changed: false as const };
}

function removeRetiredKeys(body: z.output<typeof shape.body>): { config: SiteConfig; ignored: string[] } {
  const retired = retiredSiteKeys.filter((key) => body[key] !== undefined);
  const config = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => value !== undefined && !isRetired(key)),
  );
  return {
    config,
    ignored: retired.map((key) => `${key} is no longer part of the configuration and is ignored.`),
  };
}

const isRetired = (key: string) => (retiredSiteKeys as readonly string[]).includes(key);

type ConfigChange = PlanPart & { notices: string[] };
const noConfigChange: ConfigChange = { notices: [], before: {}, after: {} };

async function applyConfig(
  ctx: AppMutationCtx,
  { app, ref, site }: LockedSite,
  config: SiteConfig,
): Promise<ConfigChange> {
  const releases = await listLiveReleaseRows(ctx.db, ref);
  const requested = await listRequestedReleaseIds(ctx.db, ref);
  const findDiffering = (candidates: readonly ReleaseRow[]) =>
    candidates
      .map((release) => ({ release, served_config: mergeSiteConfig(config, release.own_config) }))
      .filter(({ release, served_config }) => !isDeepEqual(served_config, release.served_config));
  const touched = findDiffering(selectReconfigured(app, site, { releases, requested }));
  for (const { release, served_config } of touched)
    await updateReleaseRow(ctx.db, release, { served_config, reviewed_for: null });
  const isTouched = (id: string | null) => touched.some(({ release }) => release.id === id);
  await updateSiteRow(ctx.db, ref, {
    config,
    ...(isTouched(site.staged_release_id) ? { generation: site.generation + 1 } : {}),
    updated_at: ctx.now,
  });
  const open = await findOpenPromotionRow(ctx.db, ref);
  const isStale = open !== undefined && isTouched(open.release_id);
  const publication = await publishLiveChange(ctx, ref);
  if (isStale) await closePromotionRow(ctx.db, ref, { status: 'stale', decided_at: ctx.now });
  ctx.invalidate(appTag(app.id));
  const isStagedUnchanged = findDiffering(releases).some(
    ({ release: { id } }) => id === site.staged_release_id && id !== site.active_release_id && !isTouched(id),
  );
  const isActiveUnchanged = app.visibility !== 'private' && site.active_release_id !== null;
  const isReviewLost = touched.some(({ release }) => release.reviewed_for !== null);
  const names = touched
    .filter(({ release }) => release.state === 'finalized')
    .map(({ release }) => releaseName(release));
  return {
    notices: [
      ...(isActiveUnchanged ? [activeUnchangedNotice] : []),
      ...(isStagedUnchanged ? [stagedUnchangedNotice] : []),
      ...(isReviewLost ? [reviewLostNotice] : []),
      ...(isStale ? [promotionStaleNotice] : []),
    ],
    before: { ...(isStale ? { promotion: 'pending' } : {}), ...publication.before },
    after: {
      ...(names.length > 0 ? { served_anew: names } : {}),
      ...(isStale ? { promotion: 'stale' } : {}),
      ...publication.after,
    },
  };
}

const activeUnchangedNotice =
  'It takes effect with the next promoted release; the active release stays as it is.';
const stagedUnchangedNotice =
  'The staged release keeps the configuration of its promotion request; new releases take this one.';
const reviewLostNotice = 'The review of a release no longer counts, because its configuration changes.';
const promotionStaleNotice = 'The pending promotion becomes stale: the configuration of its release changes.';

function siteEntry(action: string, app: { id: string; slug: string }) {
  return { action, appId: app.id, target: { kind: 'site', id: app.id, name: app.slug } };
}

export async function enableStaging(ctx: AppMutationCtx, urls: SiteUrls) {
  const { app, ref, site } = await lockSite(ctx, { required: 'owners' });
  if (!site.staging_enabled) {
    await updateSiteRow(ctx.db, ref, { staging_enabled: true, updated_at: ctx.now });
    ctx.invalidate(appTag(app.id));
  }
  const url = siteUrl(urls, app.subdomain, 'staged');
  if (url === null) ctx.warn('The app has no subdomain, or it is too long for a staging host.');
  ctx.audit({
    ...siteEntry('sites.enableStaging', app),
    before: { staging_enabled: site.staging_enabled, staging_url: site.staging_enabled ? url : null },
    after: { staging_enabled: true, staging_url: url },
  });
  const answer = await siteRecord(ctx.db, ref, app.subdomain, urls);
  return site.staging_enabled ? { ...answer, changed: false as const } : answer;
}

export async function disableStaging(ctx: AppMutationCtx, urls: SiteUrls) {
  const { app, ref, site } = await lockSite(ctx, { required: 'owners' });
  const { staging_enabled, staged_release_id } = site;
  const open = staging_enabled ? await findOpenPromotionRow(ctx.db, ref) : undefined;
  const promotion = await closeStalePromotion(ctx, { ref, open }, { why: 'staging is disabled' });
  if (staging_enabled) {
    await updateSiteRow(ctx.db, ref, {
      staging_enabled: false,
      staged_release_id: null,
      generation: site.generation + 1,
      updated_at: ctx.now,
    });
    ctx.invalidate(appTag(app.id));
  }
  const publication = await publishLiveChange(ctx, ref);
  ctx.audit({
    ...siteEntry('sites.disableStaging', app),
    before: { staging_enabled, staged_release_id, ...promotion.before, ...publication.before },
    after: {
      staging_enabled: false,
      staged_release_id: null,
      ...promotion.after,
      ...publication.after,
    },
  });
  const answer = await siteRecord(ctx.db, ref, app.subdomain, urls);
  return staging_enabled ? answer : { ...answer, changed: false as const };
}

export async function unpublishSite(ctx: AppMutationCtx, urls: SiteUrls) {
  const app = await lockAppFor(ctx, { required: 'owners_or_admin' });
  const ref = { tenantId: ctx.tenant.id, appId: app.id };
  const site = await lockSiteRow(ctx.db, ref);
  if (!site?.active_release_id) throw fail('nothing_active');
  const open = site.is_published ? await findOpenPromotionRow(ctx.db, ref) : undefined;
  const promotion = await closeStalePromotion(ctx, { ref, open }, { why: activeChanged });
  if (site.is_published) {
    await updateSiteRow(ctx.db, ref, {
      is_published: false,
      generation: site.generation + 1,
      updated_at: ctx.now,
    });
    await markUndeployed(ctx, ref);
  }
  const publication = await publishLiveChange(ctx, ref);
  ctx.audit({
    ...siteEntry('sites.unpublish', app),
    before: { published: site.is_published, ...promotion.before, ...publication.before },
    after: { published: false, ...promotion.after, ...publication.after },
  });
  const answer = await siteRecord(ctx.db, ref, app.subdomain, urls);
  return site.is_published ? answer : { ...answer, changed: false as const };
}
