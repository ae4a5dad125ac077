import type { MutationCtx } from '../plumbing/context.ts';
import type { HeldRelease } from './hold-release.ts';
import { closePromotionRow } from './promotion-store.ts';

/**
 * Under the site's lock, when its pointers move: what waits for a review was asked for while they led elsewhere. `why` ends
 * the sentence that a plan says it by. Answers what is to be told of it.
 */
export async function giveUpPromotion(
  ctx: MutationCtx,
  { place, open }: Pick<HeldRelease, 'place' | 'open'>,
  { why }: { why: string },
): Promise<{ before: Record<string, unknown>; after: Record<string, unknown> }> {
  if (!open) return { before: {}, after: {} };
  await closePromotionRow(ctx.db, place, { status: 'stale', decided_at: ctx.now });
  ctx.warn(`The promotion that waits for its review is given up: ${why}.`);
  return { before: { promotion: open.status }, after: { promotion: 'stale' } };
}

export const shownIsOther = 'what visitors see is not what it was when that was asked for';
