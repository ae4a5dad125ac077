import type { AppMutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';
import { holdSite } from './hold-site.ts';
import { siteAnswer } from './site-answer.ts';
import { updateSiteRow } from './site-store.ts';
import { type SitePlaces, siteUrl } from './site-urls.ts';

/** A host of its own for what is to be reviewed. Nothing is staged by it. */
export async function enableStaging(ctx: AppMutationCtx, places: SitePlaces) {
  const { app, place, site } = await holdSite(ctx, { wanted: 'owners' });
  if (!site.staging_enabled) {
    await updateSiteRow(ctx.db, place, { staging_enabled: true, updated_at: ctx.now });
    ctx.changed(appTag(app.id));
  }
  const url = siteUrl(places, app.subdomain, 'staged');
  if (url === null)
    ctx.warn('The app has no subdomain that a staging host can be made of: nothing is seen there.');
  ctx.audit({
    action: 'sites.enableStaging',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: app.slug },
    before: { staging_enabled: site.staging_enabled, staging_url: site.staging_enabled ? url : null },
    after: { staging_enabled: true, staging_url: url },
  });
  const answer = await siteAnswer(ctx.db, place, { subdomain: app.subdomain, places });
  return site.staging_enabled ? { ...answer, changed: false as const } : answer;
}
