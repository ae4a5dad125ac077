import { lockApp } from '../apps/app-row.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { asOperator } from '../plumbing/operator.ts';
import type { ClaimedWork } from './claimed-work.ts';
import { type DeploymentFailure, LostDeployment } from './deployment-failure.ts';
import { expireArtifacts, unkeep } from './expire-artifacts.ts';
import { listInstancesOf } from './instances-store.ts';
import { deploymentName, workTag } from './queue-deployment.ts';
import { type DeploymentRow, lockDeploymentRow, updateDeploymentRow } from './store.ts';

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

/** It goes no further; whatever was live before still is. */
export async function endDeployment(
  work: Held & Pick<ClaimedWork, 'instances'>,
  ending: Ending,
): Promise<void> {
  const { parts, claimed, instances } = work;
  for (const instance of await listInstancesOf(parts.db, claimed.id)) {
    if (instance.node === parts.runtime.node) await instances.end(instance);
  }
  await asHolder(work, `deployments.${ending.state}`, async (ctx, { slug, row }) => {
    const failure = ending.state === 'failed' ? ending.failure : null;
    const set: Partial<DeploymentRow> = {
      ...{ state: ending.state, ended_at: ctx.now, lease_holder: null, lease_until: null },
      step: failure?.step ?? null,
      ...(ending.state === 'built' && { release_id: ending.releaseId }),
      failure_code: failure?.code ?? null,
      failure_step: failure?.step ?? null,
      failure_detail: failure?.message.slice(0, detailCharsMax) ?? null,
    };
    await updateDeploymentRow(ctx.db, claimed, { id: row.id, set });
    if (ending.state === 'built') await expireArtifacts(ctx, claimed);
    else await unkeep(ctx, claimed, [row]);
    ctx.audit({
      action: `deployments.${ending.state === 'failed' ? 'fail' : 'end'}`,
      appId: row.app_id,
      target: { kind: 'deployment', id: row.id, name: deploymentName(slug, row) },
      before: { state: row.state },
      after: { state: ending.state, ...(failure && { failure: failure.code, step: failure.step }) },
    });
    ctx.changed(workTag);
    ctx.changed(`logs:${row.id}`);
  });
}

const detailCharsMax = 2_000;
