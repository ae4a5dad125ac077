import type { AppMutationCtx } from '../plumbing/context.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import { giveUpPromotion } from './give-up-promotion.ts';
import { holdSite } from './hold-site.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { siteAnswer } from './site-answer.ts';
import { updateSiteRow } from './site-store.ts';
import type { SitePlaces } from './site-urls.ts';

/** With the host goes what was staged there, and a review of it. */
export async function disableStaging(ctx: AppMutationCtx, places: SitePlaces) {
  const { app, place, site } = await holdSite(ctx, { wanted: 'owners' });
  const { staging_enabled, staged_release_id } = site;
  const open = staging_enabled ? await findOpenPromotionRow(ctx.db, place) : undefined;
  const promotion = await giveUpPromotion(ctx, { place, open }, { why: 'nothing is staged any more' });
  if (staging_enabled) {
    await updateSiteRow(ctx.db, place, {
      staging_enabled: false,
      staged_release_id: null,
      generation: site.generation + 1,
      updated_at: ctx.now,
    });
    ctx.changed(appTag(app.id));
  }
  const publication = await supersedeOpenRequest(ctx, place);
  ctx.audit({
    action: 'sites.disableStaging',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: app.slug },
    before: { staging_enabled, staged_release_id, ...promotion.before, ...publication.before },
    after: {
      ...{ staging_enabled: false, staged_release_id: null },
      ...promotion.after,
      ...publication.after,
    },
  });
  const answer = await siteAnswer(ctx.db, place, { subdomain: app.subdomain, places });
  return staging_enabled ? answer : { ...answer, changed: false as const };
}
