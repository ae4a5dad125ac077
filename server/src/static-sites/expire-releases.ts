import type { MutationCtx } from '../plumbing/context.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { listLiveReleaseRows, updateReleaseRow } from './release-store.ts';
import { expiring, releaseName } from './rules.ts';
import { type AppPlace, findSiteRow } from './site-store.ts';

/** Those beyond what is kept, by name. Their files go with the next sweep. The site must be locked. */
export async function expireReleases(ctx: Pick<MutationCtx, 'db'>, place: AppPlace): Promise<string[]> {
  const site = await findSiteRow(ctx.db, place);
  if (!site) return [];
  const open = await findOpenPromotionRow(ctx.db, place);
  const expired = expiring(await listLiveReleaseRows(ctx.db, place), site, open);
  for (const { id } of expired) await updateReleaseRow(ctx.db, place, { id, set: { state: 'expired' } });
  return expired.map(releaseName);
}
