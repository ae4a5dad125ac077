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
): Promise<Pick<DeploymentRow, 'id' | 'method' | 'digest'> | undefined> {
  return findLiveDeploymentRow(db, place);
}

/** Which deployment stands behind a release of the app's site, where one does. */
export function deploymentBehind(
  db: Db,
  place: AppPlace,
  releaseId: string,
): Promise<Pick<DeploymentRow, 'id'> | undefined> {
  return findDeploymentOfRelease(db, place, releaseId);
}
