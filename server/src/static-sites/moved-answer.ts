import { processInPlace } from '../deployments/what-is-live.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import type { HeldRelease } from './hold-release.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { releaseRecord } from './records.ts';
import { findReleaseRow } from './release-store.ts';
import type { Pointer } from './rules.ts';
import { findSiteRow } from './site-store.ts';
import { type SitePlaces, siteUrl } from './site-urls.ts';

/** The release as it is after a move, and the pointer that leads to it by that. */
export async function movedAnswer(
  ctx: AppMutationCtx,
  { app, place, release }: Pick<HeldRelease, 'app' | 'place' | 'release'>,
  { pointer, places }: { pointer: Pointer | null; places: SitePlaces },
) {
  const site = await findSiteRow(ctx.db, place);
  const open = await findOpenPromotionRow(ctx.db, place);
  const row = (await findReleaseRow(ctx.db, place, release.id)) ?? release;
  const isCovered = pointer === 'active' && (await processInPlace(ctx.db, place)) !== undefined;
  const url = pointer && !isCovered ? siteUrl(places, app.subdomain, pointer) : null;
  return { ...releaseRecord(row, { site, open }), pointer, url };
}

/** What a repeat answers. */
export async function unmovedAnswer(...args: Parameters<typeof movedAnswer>) {
  return { ...(await movedAnswer(...args)), changed: false as const };
}
