import type { Db } from '../plumbing/db.ts';
import {
  type AppPlace,
  type DeploymentRow,
  findDeploymentOfRelease,
  findLiveDeploymentRow,
} from './store.ts';

/** For the slices that look at what is deployed. */
export function liveDeployment(
  db: Db,
  place: AppPlace,
): Promise<Pick<DeploymentRow, 'id' | 'method' | 'digest' | 'commit_sha' | 'start_with'> | undefined> {
  return findLiveDeploymentRow(db, place);
}

/** What answers at the app's address instead of the site that it may have as well. */
export async function processInPlace(
  db: Db,
  place: AppPlace,
): Promise<Pick<DeploymentRow, 'method'> | undefined> {
  const live = await findLiveDeploymentRow(db, place);
  return live?.method === 'static' ? undefined : live;
}

/** Which deployment stands behind a release of the app's site, where one does. */
export function deploymentBehind(
  db: Db,
  place: AppPlace,
  releaseId: string,
): Promise<Pick<DeploymentRow, 'id'> | undefined> {
  return findDeploymentOfRelease(db, place, releaseId);
}
