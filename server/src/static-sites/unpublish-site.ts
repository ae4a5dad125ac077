import { holdApp } from '../apps/hold-app.ts';
import { markUndeployed } from '../apps/mark-deployed.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { giveUpPromotion, shownIsOther } from './give-up-promotion.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { siteAnswer } from './site-answer.ts';
import { lockSiteRow, updateSiteRow } from './site-store.ts';
import type { SitePlaces } from './site-urls.ts';

/** Visitors see nothing any more. What they saw is remembered, and who may see the app stays as it is. */
export async function unpublishSite(ctx: AppMutationCtx, places: SitePlaces) {
  const app = await holdApp(ctx, { wanted: 'owners_or_admin' });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const site = await lockSiteRow(ctx.db, place);
  if (!site?.active_release_id) throw fail('nothing_active');
  const open = site.is_published ? await findOpenPromotionRow(ctx.db, place) : undefined;
  const promotion = await giveUpPromotion(ctx, { place, open }, { why: shownIsOther });
  if (site.is_published) {
    await updateSiteRow(ctx.db, place, {
      is_published: false,
      generation: site.generation + 1,
      updated_at: ctx.now,
    });
    await markUndeployed(ctx, place);
  }
  const publication = await supersedeOpenRequest(ctx, place);
  ctx.audit({
    action: 'sites.unpublish',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: app.slug },
    before: { published: site.is_published, ...promotion.before, ...publication.before },
    after: { published: false, ...promotion.after, ...publication.after },
  });
  const answer = await siteAnswer(ctx.db, place, { subdomain: app.subdomain, places });
  return site.is_published ? answer : { ...answer, changed: false as const };
}
