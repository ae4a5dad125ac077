import { markDeployed } from '../apps/mark-deployed.ts';
import { releaseBecameActive } from '../deployments/release-became-active.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { expireReleases } from './expire-releases.ts';
import { giveUpPromotion, shownIsOther } from './give-up-promotion.ts';
import type { HeldRelease } from './hold-release.ts';
import { updateReleaseRow } from './release-store.ts';
import { updateSiteRow } from './site-store.ts';
import { warnOfDeploy } from './warn-of-deploy.ts';

/** What a change of the site's pointers is told by, in a plan and in the audit. */
export interface PointerChange {
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

/**
 * For who may: visitors see the release from now on, all of it and nothing else. `open` is a promotion that has come to
 * nothing by it, if there is one: who shows the release by approving one has closed that before.
 */
export async function showRelease(ctx: MutationCtx, held: HeldRelease): Promise<PointerChange> {
  const { app, place, site, release } = held;
  await warnOfDeploy(ctx, app, { place, pointer: 'active', site });
  const set = { active_release_id: release.id, is_published: true };
  const promotion = await giveUpPromotion(ctx, held, { why: shownIsOther });
  await updateSiteRow(ctx.db, place, { ...set, generation: site.generation + 1, updated_at: ctx.now });
  await updateReleaseRow(ctx.db, place, { id: release.id, set: { activated_at: ctx.now } });
  await markDeployed(ctx, place);
  await releaseBecameActive(ctx, { ...place, releaseId: release.id });
  const publication = await supersedeOpenRequest(ctx, place, { shown: { kind: 'release', id: release.id } });
  const expired = await expireReleases(ctx, place);
  if (expired.length > 0) ctx.warn(`No longer kept: ${expired.join(', ')}.`);
  const { active_release_id, is_published } = site;
  return {
    before: { active_release_id, published: is_published, ...promotion.before, ...publication.before },
    after: {
      active_release_id: set.active_release_id,
      published: true,
      ...(expired.length > 0 ? { expired } : {}),
      ...promotion.after,
      ...publication.after,
    },
  };
}

/** Whether visitors see it already, as far as the site goes. */
export function isShown({ site, release }: Pick<HeldRelease, 'site' | 'release'>): boolean {
  return site.is_published && site.active_release_id === release.id;
}
