import { sql } from 'kysely';
import { markDeployed } from '../apps/mark-deployed.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { supersedeOpenRequest } from '../review/supersede-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import { expireArtifacts } from './expire-artifacts.ts';
import { deploymentName, workTag } from './queue-deployment.ts';
import { type DeploymentRow, findLiveDeploymentRow, updateDeploymentRow } from './store.ts';

/** Under the app's lock: the app is this deployment from now on, and the one before is not any more. */
export async function goLive(
  ctx: MutationCtx,
  { slug, row, releaseId = row.release_id }: { slug: string; row: DeploymentRow; releaseId?: string | null },
): Promise<void> {
  const place = { tenantId: row.tenant_id, appId: row.app_id };
  const before = await retireLive(ctx, place, { but: row.id });
  await updateDeploymentRow(ctx.db, place, {
    id: row.id,
    set: {
      ...{ state: 'live', step: null, is_kept: true, live_at: ctx.now, ended_at: ctx.now },
      ...{ lease_holder: null, lease_until: null, release_id: releaseId },
    },
  });
  await sql`update svc.apps set live_deployment_id = ${row.id} where tenant_id = ${place.tenantId} and id = ${place.appId}`.execute(
    ctx.db,
  );
  await markDeployed(ctx, place);
  if (row.kind === 'resume') await markResumed(ctx, place);
  await expireArtifacts(ctx, place);
  const shown =
    releaseId === null
      ? ({ kind: 'deployment', id: row.id } as const)
      : ({ kind: 'release', id: releaseId } as const);
  const publication = await supersedeOpenRequest(ctx, place, { shown });
  ctx.audit({
    action: 'deployments.live',
    appId: row.app_id,
    target: { kind: 'deployment', id: row.id, name: deploymentName(slug, row) },
    before: { state: row.state, live: before?.id ?? null, ...publication.before },
    after: { state: 'live', live: row.id, digest: row.digest, ...publication.after },
  });
  ctx.changed(appTag(row.app_id));
  ctx.changed(workTag);
  ctx.changed(`logs:${row.id}`);
}

/** Under the app's lock: what was live is not any more; that one. */
export async function retireLive(
  ctx: MutationCtx,
  place: { tenantId: string; appId: string },
  { but }: { but?: string } = {},
): Promise<DeploymentRow | undefined> {
  const live = await findLiveDeploymentRow(ctx.db, place);
  if (!live || live.id === but) return undefined;
  await updateDeploymentRow(ctx.db, place, { id: live.id, set: { state: 'superseded' } });
  return live;
}

async function markResumed(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<void> {
  await sql`update svc.apps set runtime = 'running', updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId} and runtime = 'suspended'`.execute(ctx.db);
}
