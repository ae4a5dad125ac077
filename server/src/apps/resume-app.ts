import { resumeDeployment } from '../deployments/resume-deployment.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { checkTier } from './check-tier.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/**
 * A refusal leaves it suspended. The tenant's maximum may have come down since the app ran last. An app that is more than
 * files is deployed again, and runs when that is live.
 */
export async function resumeApp(ctx: AppMutationCtx, runtime: Pick<Runtime, 'kind'>): Promise<MovedApp> {
  let deployment = null as Awaited<ReturnType<typeof resumeDeployment>>;
  const moved = await moveApp(ctx, {
    move: 'resume',
    also: async (app) => {
      if (!app.is_deployed) throw fail('no_successful_deployment');
      await checkTier(ctx, app.resource_preset);
      deployment = await resumeDeployment(ctx, { tenantId: ctx.tenant.id, appId: app.id }, runtime);
      if (!deployment) return {};
      ctx.warn(`It runs once deployment #${deployment.row.seq} is live.`);
      return { runtime: 'suspended' };
    },
    told: () => (deployment?.isNew ? { after: { deployment: `#${deployment.row.seq}` } } : {}),
  });
  return deployment?.isNew === false ? { ...moved, changed: false } : moved;
}
