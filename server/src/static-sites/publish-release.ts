import type { HeldApp } from '../apps/hold-app.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import type { HeldRelease } from './hold-release.ts';
import { closePromotionRow, findOpenPromotionRow, type PromotionRow } from './promotion-store.ts';
import { lockReleaseRow, type ReleaseRow, updateReleaseRow } from './release-store.ts';
import { reviewedFor } from './rules.ts';
import { isShown, type PointerChange, showRelease } from './show-release.ts';
import { lockSiteRow } from './site-store.ts';

/**
 * For who holds the app, once its publication was approved: the release counts as reviewed for as many people, and
 * visitors see it, where they did not before. A promotion of it that waits has nothing more to ask for.
 */
export async function publishRelease(
  ctx: MutationCtx,
  app: HeldApp,
  { id, visibility, note }: { id: string; visibility: NonNullable<ReleaseRow['reviewed_for']>; note: string },
): Promise<PointerChange> {
  const place = { tenantId: app.tenant_id, appId: app.id };
  const site = await lockSiteRow(ctx.db, place);
  const release = site && (await lockReleaseRow(ctx.db, place, id));
  if (!site || release?.state !== 'finalized') throw fail('stale_deployment');
  const reviewed_for = reviewedFor({ visibility }, release.reviewed_for);
  await updateReleaseRow(ctx.db, place, { id, set: { reviewed_for } });
  const open = await findOpenPromotionRow(ctx.db, place);
  const held = { app, place, site, release, open };
  const promotion = await settlePromotion(ctx, held, note);
  const isSettled = open?.release_id === release.id;
  const change = isShown(held)
    ? { before: {}, after: {} }
    : await showRelease(ctx, { ...held, open: isSettled ? undefined : open });
  return {
    before: { reviewed_for: release.reviewed_for, ...change.before, ...promotion.before },
    after: { reviewed_for, ...change.after, ...promotion.after },
  };
}

/** Approved with it, by the same person; taken back where that is who asked: nobody approves their own. */
async function settlePromotion(
  ctx: MutationCtx,
  { place, release, open }: HeldRelease,
  note: string,
): Promise<PointerChange> {
  if (open?.release_id !== release.id) return { before: {}, after: {} };
  const decided_by = ctx.caller.userId;
  const status: PromotionRow['status'] = open.requested_by === decided_by ? 'canceled' : 'approved';
  await closePromotionRow(ctx.db, place, { status, decided_by, decided_at: ctx.now, reason: note });
  return { before: { promotion: open.status }, after: { promotion: status, promotion_id: open.id } };
}
