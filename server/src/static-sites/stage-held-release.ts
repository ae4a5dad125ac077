import type { AppMutationCtx } from '../plumbing/context.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import type { HeldRelease } from './hold-release.ts';
import { closePromotionRow } from './promotion-store.ts';
import type { PointerChange } from './show-release.ts';
import { updateSiteRow } from './site-store.ts';

/** For who may: the staging host shows the release, and a review of what it showed before has come to nothing. */
export async function stageHeldRelease(
  ctx: AppMutationCtx,
  { place, site, release, open }: HeldRelease,
): Promise<PointerChange> {
  if (open) {
    await closePromotionRow(ctx.db, place, { status: 'stale', decided_at: ctx.now });
    ctx.warn('The promotion that waits for its review is given up: it is of what was staged before.');
  }
  await updateSiteRow(ctx.db, place, {
    staged_release_id: release.id,
    generation: site.generation + 1,
    updated_at: ctx.now,
  });
  ctx.changed(appTag(place.appId));
  const publication = await supersedeOpenRequest(ctx, place);
  return {
    before: {
      staged_release_id: site.staged_release_id,
      ...(open ? { promotion: open.status } : {}),
      ...publication.before,
    },
    after: {
      staged_release_id: release.id,
      ...(open ? { promotion: 'stale' } : {}),
      ...publication.after,
    },
  };
}
