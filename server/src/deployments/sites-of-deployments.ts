import { Failure } from '../plumbing/problem.ts';
import { asOwner, type FolderReleaseParts, releaseFromFolder } from '../static-sites/release-from-folder.ts';
import { findReleaseRow } from '../static-sites/release-store.ts';
import { rollbackRelease } from '../static-sites/rollback-release.ts';
import { digestOf } from '../static-sites/rules.ts';
import { DeploymentFailure } from './deployment-failure.ts';
import type { SitesOfDeployments } from './deployment-parts.ts';
import type { DeploymentRow } from './store.ts';

export function sitesOfDeployments(parts: FolderReleaseParts): SitesOfDeployments {
  return {
    release: (row, { dir, config }, signal) =>
      releaseFromFolder(parts, {
        ...{ ...placeOf(row), deploymentId: row.id, createdBy: row.created_by, dir, signal },
        config: config ?? {},
      }),
    async showAgain(row, releaseId) {
      const place = placeOf(row);
      const release = await findReleaseRow(parts.db, place, releaseId);
      if (!release) throw gone('The release is not kept any more.');
      const shown = { releaseId, digest: digestOf(release) };
      try {
        await asOwner(parts, { ...place, createdBy: row.created_by }, 'releases.rollback', (ctx) =>
          rollbackRelease(ctx, { id: releaseId }, parts),
        );
        return { ...shown, outcome: 'active' };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        // More people see the app than it was reviewed for.
        if (error.code === 'promotion_required') return { ...shown, outcome: 'finalized' };
        throw gone(error.detail ?? error.message);
      }
    },
  };
}

function placeOf({ tenant_id: tenantId, app_id: appId }: DeploymentRow) {
  return { tenantId, appId };
}

function gone(detail: string): DeploymentFailure {
  return new DeploymentFailure('source_unavailable', 'switch', detail);
}
