import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { holdRelease } from './hold-release.ts';
import { closePromotionRow, insertPromotionRow, type PromotionRow } from './promotion-store.ts';
import { promotionRecord } from './records.ts';
import { digestOf, isAsRequested, releaseName, requireFinalized } from './rules.ts';
import { tellReviewers } from './tell-of-promotion.ts';

/** Asks for a review of exactly what is staged now. */
export async function requestPromotion(ctx: AppMutationCtx, { id, note }: { id: string; note: string }) {
  const held = await holdRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  const { place, site, release, open } = held;
  requireFinalized(release);
  if (site.staged_release_id !== release.id) throw fail('not_staged');
  const audited = {
    action: 'releases.requestPromotion',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  const isCurrent = open !== undefined && isAsRequested(open, site, release);
  if (open && isCurrent) {
    if (open.requested_by !== ctx.caller.userId || open.note !== note) throw fail('promotion_pending');
    ctx.audit({ ...audited, before: {}, after: {} });
    return { ...promotionRecord(open), changed: false as const };
  }
  // Of something that can not be approved any more.
  if (open) await closePromotionRow(ctx.db, place, { status: 'stale', decided_at: ctx.now });
  const promotion: PromotionRow = {
    id: ctx.newId(),
    app_id: place.appId,
    tenant_id: place.tenantId,
    release_id: release.id,
    digest: digestOf(release),
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
    ...audited,
    before: { promotion: null },
    after: { promotion: 'pending', promotion_id: promotion.id, digest: promotion.digest, note },
  });
  await tellReviewers(ctx, held, { note });
  return promotionRecord(promotion);
}
