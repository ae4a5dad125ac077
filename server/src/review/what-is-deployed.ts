import { deploymentBehind, liveDeployment } from '../deployments/what-is-live.ts';
import type { Db } from '../plumbing/db.ts';
import { type PointedRelease, pointedReleases } from '../static-sites/pointed-releases.ts';
import type { Deployed } from './rules.ts';
import type { AppPlace } from './store.ts';

/**
 * For who holds the app: what answers for it, and what is staged. A deployment that runs stands before a release, as it
 * does at the edge: whatever is staged beside it, visitors would not see that by its approval.
 */
export async function whatIsDeployed(db: Db, place: AppPlace): Promise<Deployed> {
  const running = await liveDeployment(db, place);
  if (running && running.method !== 'static')
    return {
      live: { deployment_id: running.id, release_id: null, digest: running.digest ?? '' },
      staged: null,
    };
  const { active, staged } = await pointedReleases(db, place);
  return { live: await ofRelease(db, place, active), staged: await ofRelease(db, place, staged) };
}

async function ofRelease(db: Db, place: AppPlace, release: PointedRelease | null): Promise<Deployed['live']> {
  if (release === null) return null;
  const deployment = await deploymentBehind(db, place, release.id);
  return { deployment_id: deployment?.id ?? null, release_id: release.id, digest: release.digest };
}
