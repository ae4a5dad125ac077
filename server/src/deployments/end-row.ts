import type { MutationCtx } from '../plumbing/context.ts';
import { unkeep } from './expire-artifacts.ts';
import { type AppPlace, type DeploymentRow, updateDeploymentRow } from './store.ts';

/** Under the app's lock: it goes no further, whoever ends it, and nothing that it alone has is kept. */
export async function endRow(
  ctx: MutationCtx,
  row: DeploymentRow,
  {
    state,
    ...more
  }: { state: 'failed' | 'canceled' | 'skipped' } & Partial<
    Pick<DeploymentRow, 'step' | 'failure_code' | 'failure_step' | 'failure_detail'>
  >,
): Promise<Partial<DeploymentRow>> {
  const place: AppPlace = { tenantId: row.tenant_id, appId: row.app_id };
  const set = { step: null, ...more, state, ended_at: ctx.now, lease_holder: null, lease_until: null };
  await updateDeploymentRow(ctx.db, place, { id: row.id, set });
  await unkeep(ctx, place, [row]);
  return { ...set, is_kept: false, env_sealed: null };
}
