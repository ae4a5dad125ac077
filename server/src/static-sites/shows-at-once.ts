import type { AppAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { findReleaseOfDeployment } from './deployment-release-store.ts';
import { findReleaseRow } from './release-store.ts';
import { mayShow } from './rules.ts';
import { type AppPlace, findSiteRow } from './site-store.ts';

/**
 * Whether visitors see what a deployment releases as soon as it has, by how the app stands now; otherwise somebody looks
 * at it first. `releaseId` is of one that was made before: by the deployment itself, or to be gone back to.
 */
export async function showsAtOnce(
  db: Db,
  { visibility, deploymentId, releaseId, ...place }: AppPlace & Asked,
): Promise<boolean> {
  if (visibility === 'private') return true;
  const id = releaseId ?? (await findReleaseOfDeployment(db, place, deploymentId))?.id;
  const release = id === undefined ? undefined : await findReleaseRow(db, place, id);
  const site = await findSiteRow(db, place);
  return site !== undefined && release !== undefined && mayShow({ visibility }, site, release);
}

interface Asked {
  visibility: AppAccess['visibility'];
  deploymentId: string;
  releaseId: string | null;
}
