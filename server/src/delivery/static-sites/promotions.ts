import { consolePaths } from '@svc/contract/console-paths.ts';
import { releaseName } from '@svc/contract/static-sites.ts';
import { appendMessage, notify } from '../../apps/notifications/notifications.ts';
import { listOwnerIds } from '../../apps/record/find-app.ts';
import { type AppMutationCtx, ownsApp } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { authorizeApprover, listActiveAdminIds } from '../../people/tenants/members.ts';
import { activateLocked, isPublished, type LockedRelease, lockRelease, stageLocked } from './pointers.ts';
import { findReleaseRow, updateReleaseRow } from './release-store.ts';
import { movedReleaseRecord, promotionRecord, unchangedReleaseRecord } from './releases.ts';
import {
  isUnchangedSinceRequest,
  releaseDigest,
  releaseEntry,
  requireFinalized,
  reviewedVisibility,
  type SiteUrls,
} from './rules.ts';
import {
  closePromotionRow,
  findLatestPromotionRow,
  findOpenPromotionRow,
  insertPromotionRow,
  type PromotionRow,
  updateSiteRow,
} from './site-store.ts';

export async function requestPromotion(ctx: AppMutationCtx, { id, note }: { id: string; note: string }) {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  const { ref, site, release, open } = locked;
  requireFinalized(release);
  if (site.staged_release_id !== release.id) throw fail('not_staged');
  const entry = releaseEntry('releases.requestPromotion', release);
  const isCurrent = open !== undefined && isUnchangedSinceRequest(open, site, release);
  if (open && isCurrent) {
    if (open.requested_by !== ctx.caller.userId || open.note !== note) throw fail('promotion_pending');
    ctx.audit({ ...entry, before: {}, after: {} });
    return { ...promotionRecord(open), changed: false as const };
  }
  if (open) await closePromotionRow(ctx.db, ref, { status: 'stale', decided_at: ctx.now });
  const promotion: PromotionRow = {
    id: ctx.newId(),
    app_id: ref.appId,
    tenant_id: ref.tenantId,
    release_id: release.id,
    digest: releaseDigest(release),
    generation: site.generation,
    status: 'pending',
    note,
    requested_by: ctx.caller.userId,
    requested_at: ctx.now,
    decided_by: null,
    decided_at: null,
    reason: '',
  };
  await insertPromotionRow(ctx.db, promotion);
  ctx.audit({
    ...entry,
    before: { promotion: null },
    after: { promotion: 'pending', promotion_id: promotion.id, digest: promotion.digest, note },
  });
  await notifyRequested(ctx, locked, promotion);
  return promotionRecord(promotion);
}

/** Repeatable. A newer release that is staged stays, except for a rollback: the deployment started last wins. */
export async function submitForReview(
  ctx: AppMutationCtx,
  { id, note, unless }: { id: string; note: string; unless: 'newer staged' | 'never' },
): Promise<'submitted' | 'overtaken'> {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  const { ref, site, release } = locked;
  requireFinalized(release);
  const staged =
    site.staged_release_id === null ? undefined : await findReleaseRow(ctx.db, ref, site.staged_release_id);
  if (unless === 'newer staged' && staged && staged.number > release.number) return 'overtaken';
  if (staged?.id !== release.id) {
    if (!site.staging_enabled)
      await updateSiteRow(ctx.db, ref, { staging_enabled: true, updated_at: ctx.now });
    const change = await stageLocked(ctx, locked);
    ctx.audit({
      ...releaseEntry('releases.stage', release),
      before: { staging_enabled: site.staging_enabled, ...change.before },
      after: { staging_enabled: true, ...change.after },
    });
  }
  const open = await findOpenPromotionRow(ctx.db, ref);
  if (open?.release_id !== release.id) await requestPromotion(ctx, { id, note });
  return 'submitted';
}

export async function approvePromotion(
  ctx: AppMutationCtx,
  { id, note, digest }: { id: string; note: string; digest?: string | undefined },
  urls: SiteUrls,
) {
  const locked = await lockRelease(ctx, { id, required: 'admin', archived: 'refused' });
  const { app, ref, site, release, open } = locked;
  requireFinalized(release);
  if (digest !== undefined && digest !== releaseDigest(release)) throw fail('staging_changed');
  const entry = releaseEntry('releases.approvePromotion', release);
  if (open?.release_id !== release.id) {
    const latest = await findLatestPromotionRow(ctx.db, ref, release.id);
    const isRepeat =
      latest?.status === 'approved' && latest.decided_by === ctx.caller.userId && isPublished(locked);
    if (!isRepeat) throw fail(await notOpenCode(ctx, locked));
    ctx.audit({ ...entry, before: {}, after: {} });
    return unchangedReleaseRecord(ctx, locked, { pointer: 'active', urls });
  }
  const approval = await authorizeApprover(ctx, {
    requestedBy: open.requested_by,
    refusal: 'self_approval',
  });
  if (!isUnchangedSinceRequest(open, site, release)) throw fail('staging_changed');
  const decided = {
    status: 'approved',
    decided_by: ctx.caller.userId,
    decided_at: ctx.now,
    reason: note,
  } as const;
  await closePromotionRow(ctx.db, ref, decided);
  const reviewed_for = reviewedVisibility(app, release.reviewed_for);
  await updateReleaseRow(ctx.db, release, { reviewed_for });
  const change = await activateLocked(ctx, { ...locked, open: undefined });
  ctx.audit({
    ...entry,
    before: { promotion: 'pending', reviewed_for: release.reviewed_for, ...change.before },
    after: {
      promotion: 'approved',
      promotion_id: open.id,
      digest: open.digest,
      note,
      reviewed_for,
      ...approval,
      ...change.after,
    },
  });
  await notifyOwners(ctx, locked, { open, outcome: 'approved', message: note });
  return movedReleaseRecord(ctx, locked, { pointer: 'active', urls });
}

async function notOpenCode({ db }: AppMutationCtx, { ref, release }: LockedRelease) {
  const latest = await findLatestPromotionRow(db, ref);
  return latest?.release_id === release.id && latest.status === 'stale' ? 'staging_changed' : 'not_pending';
}

export async function rejectPromotion(ctx: AppMutationCtx, { id, reason }: { id: string; reason: string }) {
  const locked = await lockRelease(ctx, { id, required: 'owners_or_admin', archived: 'allowed' });
  const { ref, release, open } = locked;
  const entry = releaseEntry('releases.rejectPromotion', release);
  if (open?.release_id !== release.id) {
    const latest = await findLatestPromotionRow(ctx.db, ref, release.id);
    if (latest?.status !== 'rejected' || latest.decided_by !== ctx.caller.userId) throw fail('not_pending');
    ctx.audit({ ...entry, before: {}, after: {} });
    return { ...promotionRecord(latest), changed: false as const };
  }
  if (open.requested_by === ctx.caller.userId)
    throw fail('self_approval', {
      detail:
        'You requested this promotion yourself. To cancel it, stage another release or disable staging.',
    });
  const decided = { status: 'rejected', decided_by: ctx.caller.userId, decided_at: ctx.now, reason } as const;
  await closePromotionRow(ctx.db, ref, decided);
  ctx.audit({
    ...entry,
    before: { promotion: 'pending' },
    after: { promotion: 'rejected', promotion_id: open.id, reason },
  });
  // Reviewers may open the app only while they have to decide.
  ctx.invalidate(appTag(ref.appId));
  await notifyOwners(ctx, locked, { open, outcome: 'rejected', message: reason });
  return promotionRecord({ ...open, ...decided });
}

export async function withdrawPromotion(ctx: AppMutationCtx, { id }: { id: string }): Promise<void> {
  const locked = await lockRelease(ctx, { id, required: 'visible', archived: 'allowed' });
  const { app, ref, release, open } = locked;
  if (open?.release_id !== release.id) throw fail('not_pending');
  if (open.requested_by !== ctx.caller.userId && !ownsApp(app.relation))
    throw fail('forbidden', {
      detail: 'Only the requester or an owner of the app can withdraw the request. You can reject it.',
    });
  const decided = { status: 'canceled', decided_by: ctx.caller.userId, decided_at: ctx.now } as const;
  await closePromotionRow(ctx.db, ref, decided);
  ctx.audit({
    ...releaseEntry('releases.withdrawPromotion', release),
    before: { promotion: 'pending' },
    after: { promotion: 'canceled', promotion_id: open.id },
  });
  ctx.invalidate(appTag(app.id));
}

async function notifyRequested(ctx: AppMutationCtx, locked: LockedRelease, promotion: PromotionRow) {
  const admins = await listActiveAdminIds(ctx.db, ctx.tenant.id);
  const owners = await listOwnerIds(ctx.db, locked.ref);
  const isByPlatform = ctx.caller.kind === 'operator';
  await notify(ctx, {
    ...notificationTarget(ctx, locked, promotion),
    kind: 'promotion_requested',
    userIds: [...new Set([...admins, ...owners])].filter(
      (id) => id !== ctx.caller.userId || (isByPlatform && owners.includes(id)),
    ),
    title: `${locked.app.name}: release ${releaseName(locked.release)} is waiting for review`,
    text: appendMessage(
      isByPlatform
        ? 'A deployment of the published app needs a review. You can see the release on the staging host.'
        : `${ctx.caller.email} requested the promotion. You can see the release on the staging host.`,
      promotion.note,
    ),
  });
}

async function notifyOwners(
  ctx: AppMutationCtx,
  locked: LockedRelease,
  { open, outcome, message }: { open: PromotionRow; outcome: 'approved' | 'rejected'; message: string },
): Promise<void> {
  const owners = await listOwnerIds(ctx.db, locked.ref);
  const release = `${locked.app.name}: release ${releaseName(locked.release)}`;
  await notify(ctx, {
    ...notificationTarget(ctx, locked, open),
    kind: outcome === 'approved' ? 'promotion_approved' : 'promotion_rejected',
    userIds: owners.filter((id) => id !== ctx.caller.userId),
    title: outcome === 'approved' ? `${release} was approved and is live` : `${release} was rejected`,
    text: appendMessage(
      outcome === 'approved'
        ? `${ctx.caller.email} approved it.`
        : `${ctx.caller.email} rejected it. It stays staged.`,
      message,
    ),
  });
}

function notificationTarget({ tenant }: AppMutationCtx, { app }: LockedRelease, { id }: PromotionRow) {
  return { tenantId: tenant.id, appId: app.id, path: consolePaths.review(tenant.slug, id) };
}
