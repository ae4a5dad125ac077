import type { LockedApp } from '../../apps/record/app-access.ts';
import type { AppMutationCtx, MutationCtx } from '../../core/context.ts';
import type { PlanPart } from '../../core/events.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { publishLiveChange } from './live-events.ts';
import {
  activateLocked,
  activeChanged,
  closeStalePromotion,
  isPublished,
  type LockedRelease,
  lockRelease,
  stageLocked,
} from './pointers.ts';
import { lockReleaseRow, type ReleaseRow, updateReleaseRow } from './release-store.ts';
import { movedReleaseRecord, unchangedReleaseRecord } from './releases.ts';
import { canActivate, releaseEntry, requireFinalized, reviewedVisibility, type SiteUrls } from './rules.ts';
import {
  closePromotionRow,
  findOpenPromotionRow,
  lockSiteRow,
  type PromotionRow,
  updateSiteRow,
} from './site-store.ts';

export async function activateRelease(ctx: AppMutationCtx, { id }: { id: string }, urls: SiteUrls) {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  requireFinalized(locked.release);
  return activateIfAllowed(ctx, locked, { action: 'releases.activate', urls });
}

async function activateIfAllowed(
  ctx: AppMutationCtx,
  locked: LockedRelease,
  { action, urls }: { action: string; urls: SiteUrls },
) {
  const { app, site, release } = locked;
  const entry = releaseEntry(action, release);
  if (isPublished(locked)) {
    ctx.audit({ ...entry, before: {}, after: {} });
    return unchangedReleaseRecord(ctx, locked, { pointer: 'active', urls });
  }
  if (!canActivate(app, site, release)) throw fail('promotion_required');
  ctx.audit({ ...entry, ...(await activateLocked(ctx, locked)) });
  return movedReleaseRecord(ctx, locked, { pointer: 'active', urls });
}

export async function stageRelease(ctx: AppMutationCtx, { id }: { id: string }, urls: SiteUrls) {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  const { site, release } = locked;
  requireFinalized(release);
  if (!site.staging_enabled) throw fail('staging_disabled');
  const entry = releaseEntry('releases.stage', release);
  if (site.staged_release_id === release.id) {
    ctx.audit({ ...entry, before: {}, after: {} });
    return unchangedReleaseRecord(ctx, locked, { pointer: 'staged', urls });
  }
  ctx.audit({ ...entry, ...(await stageLocked(ctx, locked)) });
  return movedReleaseRecord(ctx, locked, { pointer: 'staged', urls });
}

export async function rollbackRelease(ctx: AppMutationCtx, { id }: { id: string }, urls: SiteUrls) {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  const { state, activated_at } = locked.release;
  if (state === 'revoked') throw fail('release_revoked');
  if (state !== 'finalized' || activated_at === null) throw fail('not_rollback_target');
  return activateIfAllowed(ctx, locked, { action: 'releases.rollback', urls });
}

export async function revokeRelease(ctx: AppMutationCtx, { id }: { id: string }, urls: SiteUrls) {
  const locked = await lockRelease(ctx, { id, required: 'owners_or_admin', archived: 'allowed' });
  const { ref, release } = locked;
  const entry = releaseEntry('releases.revoke', release);
  if (release.state === 'revoked' || release.state === 'abandoned') {
    ctx.audit({ ...entry, before: {}, after: {} });
    return unchangedReleaseRecord(ctx, locked, { pointer: null, urls });
  }
  if (release.state === 'draft') {
    await updateReleaseRow(ctx.db, release, { state: 'abandoned' });
    ctx.audit({ ...entry, before: { state: 'draft' }, after: { state: 'abandoned' } });
    return movedReleaseRecord(ctx, locked, { pointer: null, urls });
  }
  requireFinalized(release);
  if (isPublished(locked)) throw fail('release_active');
  const cleared = await clearPointers(ctx, locked);
  await updateReleaseRow(ctx.db, release, {
    state: 'revoked',
    revoked_by: ctx.caller.userId,
    revoked_at: ctx.now,
  });
  const publication = await publishLiveChange(ctx, ref);
  ctx.audit({
    ...entry,
    before: { state: release.state, ...cleared.before, ...publication.before },
    after: { state: 'revoked', ...cleared.after, ...publication.after },
  });
  ctx.invalidate(appTag(ref.appId));
  return movedReleaseRecord(ctx, locked, { pointer: null, urls });
}

async function clearPointers(ctx: AppMutationCtx, { ref, site, release, open }: LockedRelease) {
  const isRequested = open?.release_id === release.id;
  if (isRequested)
    await closePromotionRow(ctx.db, ref, {
      status: 'canceled',
      decided_by: ctx.caller.userId,
      decided_at: ctx.now,
    });
  const isStaged = site.staged_release_id === release.id;
  const isActive = site.active_release_id === release.id;
  const other = isActive && !isRequested ? open : undefined;
  const promotion = await closeStalePromotion(ctx, { ref, open: other }, { why: activeChanged });
  const pointers = {
    ...(isStaged ? { staged_release_id: null } : {}),
    ...(isActive ? { active_release_id: null } : {}),
  };
  if (isStaged || isActive) {
    await updateSiteRow(ctx.db, ref, { ...pointers, generation: site.generation + 1, updated_at: ctx.now });
  }
  const pointed = Object.fromEntries(Object.keys(pointers).map((pointer) => [pointer, release.id]));
  return {
    before: { ...(isRequested ? { promotion: 'pending' } : {}), ...pointed, ...promotion.before },
    after: { ...(isRequested ? { promotion: 'canceled' } : {}), ...pointers, ...promotion.after },
  };
}

/** Caller must hold the app's row lock. */
export async function publishRelease(
  ctx: MutationCtx,
  app: LockedApp,
  { id, visibility, note }: { id: string; visibility: NonNullable<ReleaseRow['reviewed_for']>; note: string },
): Promise<PlanPart> {
  const ref = { tenantId: app.tenant_id, appId: app.id };
  const site = await lockSiteRow(ctx.db, ref);
  const release = site && (await lockReleaseRow(ctx.db, ref, id));
  if (!site || release?.state !== 'finalized') throw fail('stale_deployment');
  const reviewed_for = reviewedVisibility({ visibility }, release.reviewed_for);
  await updateReleaseRow(ctx.db, release, { reviewed_for });
  const open = await findOpenPromotionRow(ctx.db, ref);
  const locked = { app, ref, site, release, open };
  const promotion = await closePromotion(ctx, locked, note);
  const isClosed = open?.release_id === release.id;
  const change = isPublished(locked)
    ? { before: {}, after: {} }
    : await activateLocked(ctx, { ...locked, open: isClosed ? undefined : open });
  return {
    before: { reviewed_for: release.reviewed_for, ...change.before, ...promotion.before },
    after: { reviewed_for, ...change.after, ...promotion.after },
  };
}

/** The promotion counts as approved, or as canceled if the approver requested it: nobody approves their own request. */
async function closePromotion(
  ctx: MutationCtx,
  { ref, release, open }: LockedRelease,
  note: string,
): Promise<PlanPart> {
  if (open?.release_id !== release.id) return { before: {}, after: {} };
  const decided_by = ctx.caller.userId;
  const status: PromotionRow['status'] = open.requested_by === decided_by ? 'canceled' : 'approved';
  await closePromotionRow(ctx.db, ref, { status, decided_by, decided_at: ctx.now, reason: note });
  return { before: { promotion: open.status }, after: { promotion: status, promotion_id: open.id } };
}
