import type { AppRef, Ctx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { findLiveDeployment, findReleaseDeployment } from '../deployments/live-deployment.ts';
import { findDeploymentInReview } from '../deployments/reviews.ts';
import { findPointedReleases, type PointedRelease } from '../static-sites/releases.ts';
import { currentStatus, type Deployed } from './rules.ts';
import { findOpenPublicationRow } from './store.ts';

/** A running deployment takes precedence over a release, as at the edge. Caller must hold the app's row lock. */
export async function findDeployed(db: Db, ref: AppRef): Promise<Deployed> {
  const running = await findLiveDeployment(db, ref);
  const waiting = await findDeploymentInReview(db, ref);
  const built = waiting ? pinOfDeployment(waiting) : null;
  if (running && running.method !== 'static') return { live: pinOfDeployment(running), staged: null, built };
  const { active, staged } = await findPointedReleases(db, ref);
  return {
    live: await pinOfRelease(db, ref, active),
    staged: await pinOfRelease(db, ref, staged),
    built,
  };
}

function pinOfDeployment({ id, digest }: { id: string; digest: string | null }) {
  return { deployment_id: id, release_id: null, digest: digest ?? '' };
}

async function pinOfRelease(db: Db, ref: AppRef, release: PointedRelease | null): Promise<Deployed['live']> {
  if (release === null) return null;
  const deployment = await findReleaseDeployment(db, ref, release.id);
  return { deployment_id: deployment?.id ?? null, release_id: release.id, digest: release.digest };
}

export async function isUnderReview({ db, now }: Pick<Ctx, 'db' | 'now'>, ref: AppRef, releaseId: string) {
  const open = await findOpenPublicationRow(db, ref);
  return open?.release_id === releaseId && currentStatus(open, now) === 'pending';
}
