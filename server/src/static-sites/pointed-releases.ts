import type { Db } from '../plumbing/db.ts';
import { findReleaseRow } from './release-store.ts';
import { digestOf, type Pointer, releaseAt } from './rules.ts';
import { type AppPlace, findSiteRow } from './site-store.ts';

/** A release as a review sees it. */
export interface PointedRelease {
  id: string;
  digest: string;
}

/** What visitors see, and what the staging host shows; null where that is nothing. For who holds the app. */
export async function pointedReleases(
  db: Db,
  place: AppPlace,
): Promise<Record<Pointer, PointedRelease | null>> {
  const site = await findSiteRow(db, place);
  if (!site) return { active: null, staged: null };
  const at = async (pointer: Pointer): Promise<PointedRelease | null> => {
    const id = releaseAt(site, pointer);
    const release = id === null ? undefined : await findReleaseRow(db, place, id);
    return release?.state === 'finalized' ? { id: release.id, digest: digestOf(release) } : null;
  };
  return {
    active: site.is_published ? await at('active') : null,
    staged: site.staging_enabled ? await at('staged') : null,
  };
}
