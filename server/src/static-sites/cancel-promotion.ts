import type { MutationCtx } from '../plumbing/context.ts';
import { closePromotionRow } from './promotion-store.ts';
import type { AppPlace } from './site-store.ts';

/**
 * When its app is archived or deleted: what waits for a review is taken back. The app must be held. Answers what is to be
 * told of it.
 */
export async function cancelPromotion(
  ctx: MutationCtx,
  { tenantId, appId }: AppPlace,
): Promise<{ before: Record<string, unknown>; after: Record<string, unknown> }> {
  const closed = await closePromotionRow(
    ctx.db,
    { tenantId, appId },
    { status: 'canceled', decided_by: ctx.caller.userId, decided_at: ctx.now },
  );
  if (!closed) return { before: {}, after: {} };
  ctx.warn('The promotion that waits for its review is taken back.');
  return { before: { promotion: 'pending' }, after: { promotion: 'canceled' } };
}
