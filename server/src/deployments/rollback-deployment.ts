import { openEnv, sealEnv } from '../app-env/seal-env.ts';
import { holdApp } from '../apps/hold-app.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findReleaseRow } from '../static-sites/release-store.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import { type DeploymentRecord, deploymentRecord } from './deployment-record.ts';
import { queueDeployment } from './queue-deployment.ts';
import { refuseOtherRuntime } from './refuse-other-runtime.ts';
import { refuseStopped, rollbackObstacle } from './rules.ts';
import { type DeploymentRow, lockDeploymentRow, updateDeploymentRow } from './store.ts';

/** What it built is started again as a deployment of its own, with the variables that it had. */
export async function rollbackDeployment(
  ctx: AppMutationCtx,
  { id }: { id: string },
  { runtime, ...places }: SitePlaces & { runtime: Pick<Runtime, 'kind'> },
): Promise<DeploymentRecord> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const target = await lockDeploymentRow(ctx.db, place, id);
  if (!target) throw fail('not_found');
  refuseStopped(app, 'rollback');
  const obstacle = rollbackObstacle(target);
  if (obstacle) throw fail(obstacle, { detail: `Deployment #${target.seq} is ${target.state}.` });
  refuseOtherRuntime(target, runtime);
  if (target.method === 'static') await refuseExpired(ctx, target);
  const row = await queueDeployment(ctx, {
    ...place,
    kind: 'rollback',
    trigger: 'person',
    source: 'artifact',
    createdBy: ctx.caller.userId,
    again: { ...whatWasBuilt(target), rollback_of: target.id },
  });
  if (target.env_sealed) {
    // A seal opens for its own deployment alone.
    const env = await openEnv(ctx.db, { deploymentId: target.id, sealed: target.env_sealed });
    const env_sealed = await sealEnv(ctx.db, { deploymentId: row.id, env });
    await updateDeploymentRow(ctx.db, place, { id: row.id, set: { env_sealed } });
  }
  return deploymentRecord(row, { subdomain: app.subdomain, places });
}

/** What a site was is its release, which is kept by rules of its own. */
async function refuseExpired(ctx: AppMutationCtx, target: DeploymentRow): Promise<void> {
  const place = { tenantId: target.tenant_id, appId: target.app_id };
  const release = await findReleaseRow(ctx.db, place, target.release_id ?? target.id);
  if (release?.state === 'revoked') throw fail('release_revoked');
  if (release?.state !== 'finalized')
    throw fail('artifact_expired', {
      detail: `The release of deployment #${target.seq} is not kept any more.`,
    });
}

/** From now on it is this one's as well: it is kept for as long as either is. */
export function whatWasBuilt(row: DeploymentRow): Partial<DeploymentRow> {
  const { repo, ref, commit_sha, commit_message, runtime, artifact, start_with, digest, release_id } = row;
  return {
    ...{ repo, ref, commit_sha, commit_message, runtime, artifact, start_with, digest, release_id },
    is_kept: true,
  };
}
