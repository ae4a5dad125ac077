import { lockApp } from '../apps/app-row.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { asOperator } from '../plumbing/operator.ts';
import type { ClaimedWork } from './claimed-work.ts';
import { type DeploymentFailure, LostDeployment } from './deployment-failure.ts';
import { endRow } from './end-row.ts';
import { expireArtifacts } from './expire-artifacts.ts';
import { giveUpInstancesOf } from './instances-store.ts';
import { deploymentName, workTag } from './queue-deployment.ts';
import { type DeploymentRow, lockDeploymentRow, updateDeploymentRow } from './store.ts';
import { tellOfFailure } from './tell-of-failure.ts';

type Held = Pick<ClaimedWork, 'parts' | 'claimed'>;

/** Under the locks of the app and of the deployment, and only while the lease is ours. */
export function asHolder<T>(
  { parts, claimed }: Held,
  name: string,
  verb: (ctx: MutationCtx, held: { slug: string; row: DeploymentRow }) => Promise<T>,
): Promise<T> {
  return asOperator(parts, { name, auditTenantId: claimed.tenantId }, async (ctx) => {
    const app = await lockApp(ctx.db, claimed.tenantId, claimed.appId, 'any');
    const row = app && (await lockDeploymentRow(ctx.db, claimed, claimed.id));
    if (!row || row.lease_holder !== claimed.lease) throw new LostDeployment();
    return verb(ctx, { slug: app.slug, row });
  });
}

export type Ending =
  | { state: 'failed'; failure: DeploymentFailure }
  | { state: 'canceled' | 'skipped' }
  /** A release that waits for its review. */
  | { state: 'built'; releaseId: string };

/** It goes no further; whatever was live before still is. What runs of it is ended by the reconciliation, which this wakes. */
export async function endDeployment(work: Held, ending: Ending): Promise<void> {
  await asHolder(work, `deployments.${ending.state}`, async (ctx, { slug, row }) => {
    const failure = ending.state === 'failed' ? ending.failure : null;
    if (ending.state === 'built') await waitForReview(ctx, row, ending);
    else await endRow(ctx, row, { state: ending.state, ...toldOf(failure) });
    // Not ended here: where the runtime does not do it, the app would wait for that without end.
    await giveUpInstancesOf(ctx.db, row.id);
    ctx.audit({
      action: `deployments.${ending.state === 'failed' ? 'fail' : 'end'}`,
      appId: row.app_id,
      target: { kind: 'deployment', id: row.id, name: deploymentName(slug, row) },
      before: { state: row.state },
      after: { state: ending.state, ...(failure && { failure: failure.code, step: failure.step }) },
    });
    if (failure) await tellOfFailure(ctx, { slug, row }, failure);
    ctx.changed(workTag);
    ctx.changed(`logs:${row.id}`);
  });
}

async function waitForReview(
  ctx: MutationCtx,
  { id, tenant_id: tenantId, app_id: appId }: DeploymentRow,
  { releaseId }: { releaseId: string },
): Promise<void> {
  const set: Partial<DeploymentRow> = {
    ...{ state: 'built', step: null, ended_at: ctx.now, lease_holder: null, lease_until: null },
    release_id: releaseId,
  };
  await updateDeploymentRow(ctx.db, { tenantId, appId }, { id, set });
  await expireArtifacts(ctx, { tenantId, appId });
}

function toldOf(failure: DeploymentFailure | null) {
  if (!failure) return {};
  const { code: failure_code, step, message } = failure;
  return { step, failure_code, failure_step: step, failure_detail: message.slice(0, detailCharsMax) };
}

const detailCharsMax = 2_000;
