import { mergeSiteConfig, retiredSiteKeys, type SiteConfig } from '@svc/contract/site-config.ts';
import type { setSite as shape } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';
import { checkConfigSize } from './check-config-size.ts';
import { type HeldSite, holdSite } from './hold-site.ts';
import { listLiveReleaseRows, updateReleaseRow } from './release-store.ts';
import { releaseName, servedAnew } from './rules.ts';
import { siteAnswer } from './site-answer.ts';
import { updateSiteRow } from './site-store.ts';
import type { SitePlaces } from './site-urls.ts';

/** Replaces what releases are served with that do not say it themselves. What was reviewed stays as it was reviewed. */
export async function setSite(ctx: AppMutationCtx, body: z.output<typeof shape.body>, places: SitePlaces) {
  const { config, notices } = withoutRetired(body);
  checkConfigSize(config, 'body');
  for (const notice of notices) ctx.warn(notice);
  const held = await holdSite(ctx, { wanted: 'owners' });
  const { app, place, site } = held;
  const isChanged = !isSame(config, site.config);
  const touched = isChanged ? await serveAnew(ctx, held, config) : [];
  ctx.audit({
    action: 'sites.set',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: app.slug },
    before: { ...site.config },
    after: { ...config, ...(touched.length > 0 ? { served_anew: touched } : {}) },
  });
  const answer = {
    ...(await siteAnswer(ctx.db, place, { subdomain: app.subdomain, places })),
    ...(notices.length > 0 ? { notices } : {}),
  };
  return isChanged ? answer : { ...answer, changed: false as const };
}

function withoutRetired(body: z.output<typeof shape.body>): { config: SiteConfig; notices: string[] } {
  const retired = retiredSiteKeys.filter((key) => body[key] !== undefined);
  const config = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => value !== undefined && !isRetired(key)),
  );
  return {
    config,
    notices: retired.map((key) => `${key} is no longer part of the configuration, and is ignored.`),
  };
}

const isRetired = (key: string) => (retiredSiteKeys as readonly string[]).includes(key);

/** The releases that are served otherwise by it, by name. */
async function serveAnew(
  ctx: AppMutationCtx,
  { app, place, site }: HeldSite,
  config: SiteConfig,
): Promise<string[]> {
  const releases = await listLiveReleaseRows(ctx.db, place);
  const touched = servedAnew(app, site, releases)
    .map((release) => ({ release, served_config: mergeSiteConfig(config, release.own_config) }))
    .filter(({ release, served_config }) => !isSame(served_config, release.served_config));
  for (const { release, served_config } of touched)
    await updateReleaseRow(ctx.db, place, { id: release.id, set: { served_config, reviewed_for: null } });
  const isStagedTouched = touched.some(({ release }) => release.id === site.staged_release_id);
  await updateSiteRow(ctx.db, place, {
    config,
    ...(isStagedTouched ? { generation: site.generation + 1 } : {}),
    updated_at: ctx.now,
  });
  const isActiveKept = app.visibility !== 'private' && site.active_release_id !== null;
  if (isActiveKept)
    ctx.warn('It takes effect with the next release that is promoted; what visitors see stays.');
  if (touched.some(({ release }) => release.reviewed_for !== null))
    ctx.warn(
      'Releases that are served otherwise by it were reviewed as they were; that review no longer counts.',
    );
  ctx.changed(appTag(app.id));
  return touched
    .filter(({ release }) => release.state === 'finalized')
    .map(({ release }) => releaseName(release));
}
