import type { AppMutationCtx } from '../plumbing/context.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import { giveUpPromotion } from './give-up-promotion.ts';
import type { HeldRelease } from './hold-release.ts';
import type { PointerChange } from './show-release.ts';
import { updateSiteRow } from './site-store.ts';

/** For who may: the staging host shows the release, and a review of what it showed before has come to nothing. */
export async function stageHeldRelease(ctx: AppMutationCtx, held: HeldRelease): Promise<PointerChange> {
  const { place, site, release } = held;
  const promotion = await giveUpPromotion(ctx, held, { why: 'it is of what was staged before' });
  await updateSiteRow(ctx.db, place, {
    staged_release_id: release.id,
    generation: site.generation + 1,
    updated_at: ctx.now,
  });
  ctx.changed(appTag(place.appId));
  const publication = await supersedeOpenRequest(ctx, place);
  return {
    before: { staged_release_id: site.staged_release_id, ...promotion.before, ...publication.before },
    after: { staged_release_id: release.id, ...promotion.after, ...publication.after },
  };
}
