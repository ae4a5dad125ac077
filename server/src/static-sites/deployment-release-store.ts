import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { ReleaseState } from './release-store.ts';
import type { AppPlace } from './site-store.ts';

export interface DeploymentRelease {
  id: string;
  state: ReleaseState;
  manifest_sha256: string;
}

/** The release that a deployment has made, if it has. */
export async function findReleaseOfDeployment(
  db: Db,
  { tenantId, appId }: AppPlace,
  deploymentId: string,
): Promise<DeploymentRelease | undefined> {
  const { rows } = await sql<DeploymentRelease>`
    select id, state, manifest_sha256 from svc.static_releases
    where tenant_id = ${tenantId} and app_id = ${appId} and deployment_id = ${deploymentId}`.execute(db);
  return rows[0];
}

/** Of a draft that was begun for it at this moment; one that somebody else has begun stays theirs. */
export async function giveToDeployment(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  { id, deploymentId, createdBy, now }: { id: string; deploymentId: string; createdBy: string; now: Date },
): Promise<void> {
  // A draft of other files, by a build that ended half-way, is given up.
  await sql`
    update svc.static_releases set deployment_id = null
    where tenant_id = ${tenantId} and app_id = ${appId} and deployment_id = ${deploymentId}`.execute(tx);
  await sql`
    update svc.static_releases set deployment_id = ${deploymentId}, created_by = ${createdBy}
    where tenant_id = ${tenantId} and app_id = ${appId} and id = ${id} and created_at = ${now}`.execute(tx);
}
