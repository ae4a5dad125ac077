import { mergeSiteConfig, retiredSiteKeys, type SiteConfig } from '@svc/contract/site-config.ts';
import type { setSite as shape } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import { checkConfigSize } from './check-config-size.ts';
import { type HeldSite, holdSite } from './hold-site.ts';
import { closePromotionRow, findOpenPromotionRow, listRequestedReleaseIds } from './promotion-store.ts';
import { listLiveReleaseRows, type ReleaseRow, updateReleaseRow } from './release-store.ts';
import { releaseName, servedAnew } from './rules.ts';
import { siteAnswer } from './site-answer.ts';
import { updateSiteRow } from './site-store.ts';
import type { SitePlaces } from './site-urls.ts';

/** Replaces what releases are served with that do not say it themselves. What was reviewed stays as it was reviewed. */
export async function setSite(ctx: AppMutationCtx, body: z.output<typeof shape.body>, places: SitePlaces) {
  const { config, ignored } = withoutRetired(body);
  checkConfigSize(config, 'body');
  const held = await holdSite(ctx, { wanted: 'owners' });
  const { app, place, site } = held;
  const isChanged = !isSame(config, site.config);
  const served = isChanged ? await serveAnew(ctx, held, config) : nothingServed;
  const notices = [...ignored, ...served.notices];
  for (const notice of notices) ctx.warn(notice);
  ctx.audit({
    action: 'sites.set',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: app.slug },
    before: { ...site.config, ...served.before },
    after: { ...config, ...served.after },
  });
  const answer = {
    ...(await siteAnswer(ctx.db, place, { subdomain: app.subdomain, places })),
    ...(notices.length > 0 ? { notices } : {}),
  };
  return isChanged ? answer : { ...answer, changed: false as const };
}

function withoutRetired(body: z.output<typeof shape.body>): { config: SiteConfig; ignored: string[] } {
  const retired = retiredSiteKeys.filter((key) => body[key] !== undefined);
  const config = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => value !== undefined && !isRetired(key)),
  );
  return {
    config,
    ignored: retired.map((key) => `${key} is no longer part of the configuration, and is ignored.`),
  };
}

const isRetired = (key: string) => (retiredSiteKeys as readonly string[]).includes(key);

/** What a new configuration does to releases, and what one should know of it. */
interface Served {
  notices: string[];
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}
const nothingServed: Served = { notices: [], before: {}, after: {} };

async function serveAnew(
  ctx: AppMutationCtx,
  { app, place, site }: HeldSite,
  config: SiteConfig,
): Promise<Served> {
  const releases = await listLiveReleaseRows(ctx.db, place);
  const requested = await listRequestedReleaseIds(ctx.db, place);
  const differing = (some: readonly ReleaseRow[]) =>
    some
      .map((release) => ({ release, served_config: mergeSiteConfig(config, release.own_config) }))
      .filter(({ release, served_config }) => !isSame(served_config, release.served_config));
  const touched = differing(servedAnew(app, site, { releases, requested }));
  for (const { release, served_config } of touched)
    await updateReleaseRow(ctx.db, place, { id: release.id, set: { served_config, reviewed_for: null } });
  const isTouched = (id: string | null) => touched.some(({ release }) => release.id === id);
  await updateSiteRow(ctx.db, place, {
    config,
    ...(isTouched(site.staged_release_id) ? { generation: site.generation + 1 } : {}),
    updated_at: ctx.now,
  });
  const open = await findOpenPromotionRow(ctx.db, place);
  const isStale = open !== undefined && isTouched(open.release_id);
  const publication = await supersedeOpenRequest(ctx, place);
  if (isStale) await closePromotionRow(ctx.db, place, { status: 'stale', decided_at: ctx.now });
  ctx.changed(appTag(app.id));
  const isStagedKept = differing(releases).some(
    ({ release: { id } }) => id === site.staged_release_id && id !== site.active_release_id && !isTouched(id),
  );
  const isActiveKept = app.visibility !== 'private' && site.active_release_id !== null;
  const isReviewLost = touched.some(({ release }) => release.reviewed_for !== null);
  const names = touched
    .filter(({ release }) => release.state === 'finalized')
    .map(({ release }) => releaseName(release));
  return {
    notices: [
      ...(isActiveKept ? [takesEffectLater] : []),
      ...(isStagedKept ? [stagedKeepsIts] : []),
      ...(isReviewLost ? [reviewIsLost] : []),
      ...(isStale ? [promotionIsGivenUp] : []),
    ],
    before: { ...(isStale ? { promotion: 'pending' } : {}), ...publication.before },
    after: {
      ...(names.length > 0 ? { served_anew: names } : {}),
      ...(isStale ? { promotion: 'stale' } : {}),
      ...publication.after,
    },
  };
}

const takesEffectLater = 'It takes effect with the next release that is promoted; what visitors see stays.';
const stagedKeepsIts =
  'The staged release keeps the configuration that it was to be promoted with; a new release takes this one.';
const reviewIsLost = 'What is shown was reviewed as it was; served otherwise, that review no longer counts.';
const promotionIsGivenUp =
  'The promotion that waits for its review is given up: it is of what was shown before.';
