import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { holdRelease } from './hold-release.ts';
import { closePromotionRow, findLatestPromotionRow } from './promotion-store.ts';
import { promotionRecord } from './records.ts';
import { releaseName } from './rules.ts';
import { tellOfDecision } from './tell-of-promotion.ts';

/** It stays staged. Whoever asked for it can not be the one who looked at it. */
export async function rejectPromotion(ctx: AppMutationCtx, { id, reason }: { id: string; reason: string }) {
  const held = await holdRelease(ctx, { id, wanted: 'owners_or_admin', archived: 'allowed' });
  const { place, release, open } = held;
  const audited = {
    action: 'releases.rejectPromotion',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  if (open?.release_id !== release.id) {
    const latest = await findLatestPromotionRow(ctx.db, place, release.id);
    if (latest?.status !== 'rejected' || latest.decided_by !== ctx.caller.userId) throw fail('not_pending');
    ctx.audit({ ...audited, before: {}, after: {} });
    return { ...promotionRecord(latest), changed: false as const };
  }
  if (open.requested_by === ctx.caller.userId)
    throw fail('self_approval', {
      detail: 'You asked for it yourself. To take it back, stage another release or disable staging.',
    });
  const decided = { status: 'rejected', decided_by: ctx.caller.userId, decided_at: ctx.now, reason } as const;
  await closePromotionRow(ctx.db, place, decided);
  ctx.audit({
    ...audited,
    before: { promotion: 'pending' },
    after: { promotion: 'rejected', promotion_id: open.id, reason },
  });
  await tellOfDecision(ctx, held, { outcome: 'rejected', words: reason });
  return promotionRecord({ ...open, ...decided });
}
