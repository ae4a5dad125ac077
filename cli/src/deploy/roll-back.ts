import { rollbackDeployment } from '@svc/contract/deployments.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { mutate } from '../mutation.ts';
import { resolveTenant } from '../tenant.ts';
import { deploymentView } from '../views/deployment.ts';
import type { DeploymentRecord } from './deployment-ending.ts';
import { followDeployment } from './follow-deployment.ts';

export async function rollBack(
  ctx: Ctx,
  { app, deployment, until }: { app: string; deployment: string; until: 'begun' | 'ended' },
): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app, deployment };
  const made = await mutate(ctx, rollbackDeployment, { params }, { view: deploymentView });
  if (ctx.mutation.mode === 'preview' || until === 'begun') return made;
  return followDeployment(ctx, { ...params, begun: made.value as DeploymentRecord, log: 'shown' });
}
