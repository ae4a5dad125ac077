import type { Site } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { Db } from '../plumbing/db.ts';
import { findLatestPromotionRow, findOpenPromotionRow } from './promotion-store.ts';
import { promotionRecord, releaseRecord } from './records.ts';
import { findReleaseRow } from './release-store.ts';
import { type AppPlace, findSiteRow } from './site-store.ts';
import { type SitePlaces, siteUrl } from './site-urls.ts';

export type SiteRecord = z.output<typeof Site>;

/** The site as it is now; of an app that never had one, what it would be. */
export async function siteAnswer(
  db: Db,
  place: AppPlace,
  { subdomain, places }: { subdomain: string | null; places: SitePlaces },
): Promise<SiteRecord> {
  const site = await findSiteRow(db, place);
  const open = await findOpenPromotionRow(db, place);
  const latest = await findLatestPromotionRow(db, place);
  const record = async (id: string | null | undefined) => {
    const row = id ? await findReleaseRow(db, place, id) : undefined;
    return row ? releaseRecord(row, { site, open }) : null;
  };
  return {
    app_id: place.appId,
    url: siteUrl(places, subdomain, 'active'),
    staging_url: site?.staging_enabled ? siteUrl(places, subdomain, 'staged') : null,
    published: site?.is_published ?? false,
    staging_enabled: site?.staging_enabled ?? false,
    config: { ...site?.config },
    generation: site?.generation ?? 0,
    active_release: await record(site?.active_release_id),
    staged_release: await record(site?.staged_release_id),
    promotion: latest ? promotionRecord(latest) : null,
    updated_at: site?.updated_at.toISOString() ?? null,
  };
}
