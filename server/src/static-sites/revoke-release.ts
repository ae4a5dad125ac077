import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import { giveUpPromotion, shownIsOther } from './give-up-promotion.ts';
import { type HeldRelease, holdRelease } from './hold-release.ts';
import { movedAnswer, unmovedAnswer } from './moved-answer.ts';
import { closePromotionRow } from './promotion-store.ts';
import { updateReleaseRow } from './release-store.ts';
import { releaseName, requireFinalized } from './rules.ts';
import { isShown } from './show-release.ts';
import { updateSiteRow } from './site-store.ts';
import type { SitePlaces } from './site-urls.ts';

/**
 * Never shown again, by anybody. What visitors see has to give way first; an unpublished site loses what it would show; a
 * draft is given up.
 */
export async function revokeRelease(ctx: AppMutationCtx, { id }: { id: string }, places: SitePlaces) {
  const held = await holdRelease(ctx, { id, wanted: 'owners_or_admin', archived: 'allowed' });
  const { place, release } = held;
  const audited = {
    action: 'releases.revoke',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  if (release.state === 'revoked' || release.state === 'abandoned') {
    ctx.audit({ ...audited, before: {}, after: {} });
    return unmovedAnswer(ctx, held, { pointer: null, places });
  }
  if (release.state === 'draft') {
    await updateReleaseRow(ctx.db, place, { id: release.id, set: { state: 'abandoned' } });
    ctx.audit({ ...audited, before: { state: 'draft' }, after: { state: 'abandoned' } });
    return movedAnswer(ctx, held, { pointer: null, places });
  }
  requireFinalized(release);
  if (isShown(held)) throw fail('release_active');
  const cleared = await takeOff(ctx, held);
  await updateReleaseRow(ctx.db, place, {
    id: release.id,
    set: { state: 'revoked', revoked_by: ctx.caller.userId, revoked_at: ctx.now },
  });
  const publication = await supersedeOpenRequest(ctx, place);
  ctx.audit({
    ...audited,
    before: { state: release.state, ...cleared.before, ...publication.before },
    after: { state: 'revoked', ...cleared.after, ...publication.after },
  });
  ctx.changed(appTag(place.appId));
  return movedAnswer(ctx, held, { pointer: null, places });
}

/** From every pointer and out of the review. */
async function takeOff(ctx: AppMutationCtx, { place, site, release, open }: HeldRelease) {
  const isRequested = open?.release_id === release.id;
  if (isRequested)
    await closePromotionRow(ctx.db, place, {
      status: 'canceled',
      decided_by: ctx.caller.userId,
      decided_at: ctx.now,
    });
  const isStaged = site.staged_release_id === release.id;
  const isActive = site.active_release_id === release.id;
  const other = isActive && !isRequested ? open : undefined;
  const promotion = await giveUpPromotion(ctx, { place, open: other }, { why: shownIsOther });
  if (isStaged || isActive)
    await updateSiteRow(ctx.db, place, {
      ...(isStaged ? { staged_release_id: null } : {}),
      ...(isActive ? { active_release_id: null } : {}),
      ...{ generation: site.generation + 1, updated_at: ctx.now },
    });
  return {
    before: {
      ...(isRequested ? { promotion: 'pending' } : {}),
      ...(isStaged ? { staged_release_id: release.id } : {}),
      ...(isActive ? { active_release_id: release.id } : {}),
      ...promotion.before,
    },
    after: {
      ...(isRequested ? { promotion: 'canceled' } : {}),
      ...(isStaged ? { staged_release_id: null } : {}),
      ...(isActive ? { active_release_id: null } : {}),
      ...promotion.after,
    },
  };
}
