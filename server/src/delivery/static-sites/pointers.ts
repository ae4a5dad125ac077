import type { AppRelation } from '@svc/contract/endpoint.ts';
import { releaseName } from '@svc/contract/static-sites.ts';
import { type LockedApp, lockAppFor } from '../../apps/record/app-access.ts';
import { markDeployed } from '../../apps/record/app-status.ts';
import type { AppMutationCtx, AppRef, MutationCtx } from '../../core/context.ts';
import type { PlanPart } from '../../core/events.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { findRunningProcess, publishLiveChange, publishLiveEvent } from './live-events.ts';
import { listLiveReleaseRows, lockReleaseRow, updateReleaseRow } from './release-store.ts';
import { type Pointer, requireNotArchived, selectExpired } from './rules.ts';
import {
  closePromotionRow,
  findOpenPromotionRow,
  findSiteRow,
  insertSiteRow,
  lockSiteRow,
  type SiteRow,
  updateSiteRow,
} from './site-store.ts';

export type LockedSite = Awaited<ReturnType<typeof lockSite>>;

export async function lockSite(ctx: AppMutationCtx, { required }: { required: AppRelation }) {
  const app = await lockAppFor(ctx, { required });
  requireNotArchived(app);
  const ref = { tenantId: ctx.tenant.id, appId: app.id };
  const existing = await lockSiteRow(ctx.db, ref);
  if (existing) return { app, ref, site: existing };
  await insertSiteRow(ctx.db, ref, ctx.now);
  const created = await lockSiteRow(ctx.db, ref);
  if (!created) throw new Error('The new site row is missing.');
  return { app, ref, site: created };
}

/** A release with its site and app. Lock order: app, site, release. */
export type LockedRelease = Awaited<ReturnType<typeof lockRelease>>;

export async function lockRelease(
  ctx: AppMutationCtx,
  { id, required, archived }: { id: string; required: AppRelation; archived: 'refused' | 'allowed' },
) {
  const app = await lockAppFor(ctx, { required });
  const ref = { tenantId: ctx.tenant.id, appId: app.id };
  const site = await lockSiteRow(ctx.db, ref);
  const release = site && (await lockReleaseRow(ctx.db, ref, id));
  if (!release) throw fail('not_found');
  if (archived === 'refused') requireNotArchived(app);
  return { app, ref, site, release, open: await findOpenPromotionRow(ctx.db, ref) };
}

/** Caller must have checked that the activation is allowed. */
export async function activateLocked(ctx: MutationCtx, locked: LockedRelease): Promise<PlanPart> {
  const { app, ref, site, release } = locked;
  await warnBeforeDeploy(ctx, app, { ref, pointer: 'active', site });
  const set = { active_release_id: release.id, is_published: true };
  const promotion = await closeStalePromotion(ctx, locked, { why: activeChanged });
  await updateSiteRow(ctx.db, ref, { ...set, generation: site.generation + 1, updated_at: ctx.now });
  await updateReleaseRow(ctx.db, release, { activated_at: ctx.now });
  await markDeployed(ctx, ref);
  await publishLiveEvent(ctx, 'releaseActivated', { ...ref, releaseId: release.id });
  const publication = await publishLiveChange(ctx, ref, { kind: 'release', id: release.id });
  const expired = await expireReleases(ctx, ref);
  if (expired.length > 0) ctx.warn(`Expired releases: ${expired.join(', ')}.`);
  const { active_release_id, is_published } = site;
  return {
    before: { active_release_id, published: is_published, ...promotion.before, ...publication.before },
    after: {
      active_release_id: set.active_release_id,
      published: true,
      ...(expired.length > 0 ? { expired } : {}),
      ...promotion.after,
      ...publication.after,
    },
  };
}

export function isPublished({ site, release }: Pick<LockedRelease, 'site' | 'release'>): boolean {
  return site.is_published && site.active_release_id === release.id;
}

export async function stageLocked(ctx: AppMutationCtx, locked: LockedRelease): Promise<PlanPart> {
  const { ref, site, release } = locked;
  const promotion = await closeStalePromotion(ctx, locked, { why: 'another release is staged' });
  await updateSiteRow(ctx.db, ref, {
    staged_release_id: release.id,
    generation: site.generation + 1,
    updated_at: ctx.now,
  });
  ctx.invalidate(appTag(ref.appId));
  const publication = await publishLiveChange(ctx, ref);
  return {
    before: { staged_release_id: site.staged_release_id, ...promotion.before, ...publication.before },
    after: { staged_release_id: release.id, ...promotion.after, ...publication.after },
  };
}

/** Caller must hold the site's row lock. `why` completes the warning. */
export async function closeStalePromotion(
  ctx: MutationCtx,
  { ref, open }: Pick<LockedRelease, 'ref' | 'open'>,
  { why }: { why: string },
): Promise<PlanPart> {
  if (!open) return { before: {}, after: {} };
  await closePromotionRow(ctx.db, ref, { status: 'stale', decided_at: ctx.now });
  ctx.warn(`The pending promotion becomes stale: ${why}.`);
  return { before: { promotion: open.status }, after: { promotion: 'stale' } };
}

export const activeChanged = 'the active release changes';

/** Caller must hold the app's row lock. */
export async function cancelPromotion(ctx: MutationCtx, { tenantId, appId }: AppRef): Promise<PlanPart> {
  const closed = await closePromotionRow(
    ctx.db,
    { tenantId, appId },
    { status: 'canceled', decided_by: ctx.caller.userId, decided_at: ctx.now },
  );
  if (!closed) return { before: {}, after: {} };
  ctx.warn('The pending promotion is canceled.');
  return { before: { promotion: 'pending' }, after: { promotion: 'canceled' } };
}

interface DeployTarget {
  ref: AppRef;
  pointer: Pointer | null;
  site: Pick<SiteRow, 'active_release_id' | 'is_published'>;
}

export async function warnBeforeDeploy(
  ctx: Pick<MutationCtx, 'db' | 'warn' | 'events'>,
  app: Pick<LockedApp, 'deploy_method' | 'subdomain' | 'runtime' | 'visibility'>,
  { ref, pointer, site }: DeployTarget,
): Promise<void> {
  if (pointer === 'active' && site.active_release_id !== null && !site.is_published)
    ctx.warn('The site is unpublished; this publishes it again.');
  if (pointer === null)
    ctx.warn(
      `The app is ${app.visibility}: the release must be staged and promoted before visitors see it, and staging is not enabled.`,
    );
  if (pointer === 'staged')
    ctx.warn(
      `The app is ${app.visibility}: the release is staged, and becomes active when its promotion is approved.`,
    );
  if (pointer === 'active' && app.runtime === 'suspended')
    ctx.warn('The app is suspended: visitors cannot see it until it is resumed.');
  if (pointer !== null && app.subdomain === null)
    ctx.warn('The app has no subdomain: visitors cannot see it until it has one.');
  const live = await findRunningProcess(ctx, ref);
  if (live)
    ctx.warn(
      `The app is deployed by ${live.method}, which responds instead of the site: visitors do not see this release.`,
    );
  else if (app.deploy_method !== 'static')
    ctx.warn(
      `The app is set up for ${app.deploy_method} deployments: once it is deployed that way, that deployment responds instead of the site.`,
    );
}

/** Caller must hold the site's row lock. The cleanup job deletes the files. */
export async function expireReleases(ctx: Pick<MutationCtx, 'db'>, ref: AppRef): Promise<string[]> {
  const site = await findSiteRow(ctx.db, ref);
  if (!site) return [];
  const open = await findOpenPromotionRow(ctx.db, ref);
  const expired = selectExpired(await listLiveReleaseRows(ctx.db, ref), site, open);
  for (const release of expired) await updateReleaseRow(ctx.db, release, { state: 'expired' });
  return expired.map(releaseName);
}
