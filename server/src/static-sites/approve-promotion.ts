import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { judgeApprover } from '../tenants/judge-approver.ts';
import { type HeldRelease, holdRelease } from './hold-release.ts';
import { movedAnswer, unmovedAnswer } from './moved-answer.ts';
import { closePromotionRow, findLatestPromotionRow } from './promotion-store.ts';
import { updateReleaseRow } from './release-store.ts';
import { digestOf, isAsRequested, releaseName, requireFinalized, reviewedFor } from './rules.ts';
import { isShown, showRelease } from './show-release.ts';
import type { SitePlaces } from './site-urls.ts';
import { tellOfDecision } from './tell-of-promotion.ts';

/** What was reviewed is shown, if it is still what is staged: the very files and configuration, nothing else. */
export async function approvePromotion(
  ctx: AppMutationCtx,
  { id, note, digest }: { id: string; note: string; digest?: string | undefined },
  places: SitePlaces,
) {
  const held = await holdRelease(ctx, { id, wanted: 'admin', archived: 'refused' });
  const { app, place, site, release, open } = held;
  requireFinalized(release);
  if (digest !== undefined && digest !== digestOf(release)) throw fail('staging_changed');
  const audited = {
    action: 'releases.approvePromotion',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  if (open?.release_id !== release.id) {
    const latest = await findLatestPromotionRow(ctx.db, place, release.id);
    const isRepeat =
      latest?.status === 'approved' && latest.decided_by === ctx.caller.userId && isShown(held);
    if (!isRepeat) throw fail(await whyNotOpen(ctx, held));
    ctx.audit({ ...audited, before: {}, after: {} });
    return unmovedAnswer(ctx, held, { pointer: 'active', places });
  }
  const approval = await judgeApprover(ctx, {
    requestedBy: open.requested_by,
    refusal: 'self_approval',
  });
  if (!isAsRequested(open, site, release)) throw fail('staging_changed');
  const decided = {
    status: 'approved',
    decided_by: ctx.caller.userId,
    decided_at: ctx.now,
    reason: note,
  } as const;
  await closePromotionRow(ctx.db, place, decided);
  const reviewed_for = reviewedFor(app, release.reviewed_for);
  await updateReleaseRow(ctx.db, place, { id: release.id, set: { reviewed_for } });
  const change = await showRelease(ctx, { ...held, open: undefined });
  ctx.audit({
    ...audited,
    before: { promotion: 'pending', reviewed_for: release.reviewed_for, ...change.before },
    after: {
      ...{ promotion: 'approved', promotion_id: open.id, digest: open.digest, note, reviewed_for },
      ...approval,
      ...change.after,
    },
  });
  await tellOfDecision(ctx, held, { outcome: 'approved', words: note });
  return movedAnswer(ctx, held, { pointer: 'active', places });
}

/** What was asked for came to nothing by a move of the site, and may be asked for again; or there is nothing to approve. */
async function whyNotOpen(
  { db }: AppMutationCtx,
  { place, release }: HeldRelease,
): Promise<'staging_changed' | 'not_pending'> {
  const latest = await findLatestPromotionRow(db, place);
  return latest?.release_id === release.id && latest.status === 'stale' ? 'staging_changed' : 'not_pending';
}
