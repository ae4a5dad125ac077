import type { Runtime } from '../drivers/runtime/runtime.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { queueDeployment } from './queue-deployment.ts';
import { refuseOtherRuntime } from './refuse-other-runtime.ts';
import { whatWasBuilt } from './rollback-deployment.ts';
import { type AppPlace, type DeploymentRow, findLiveDeploymentRow, lockOpenRows } from './store.ts';

/**
 * For who holds a suspended app: what was live last is started again, with the variables of now. Null: the app is a site
 * of files, which needs nothing to run. One that is under way already is that one.
 */
export async function resumeDeployment(
  ctx: MutationCtx,
  place: AppPlace,
  runtime: Pick<Runtime, 'kind'>,
): Promise<{ row: DeploymentRow; isNew: boolean } | null> {
  const live = await findLiveDeploymentRow(ctx.db, place);
  if (!live || live.method === 'static') return null;
  const open = (await lockOpenRows(ctx.db, place)).find(({ kind }) => kind === 'resume');
  if (open) return { row: open, isNew: false };
  refuseOtherRuntime(live, runtime);
  const row = await queueDeployment(ctx, {
    ...place,
    ...{ kind: 'resume', trigger: 'resume', source: 'artifact', createdBy: ctx.caller.userId },
    again: whatWasBuilt(live),
  });
  return { row, isNew: true };
}
