import { sql } from 'kysely';
import type { MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';

interface Of {
  tenantId: string;
  appId: string;
}

/** For who holds the app: something of it is there for visitors. What was suspended stays so until it is resumed. */
export async function markDeployed(ctx: MutationCtx, { tenantId, appId }: Of): Promise<void> {
  await sql`
    update svc.apps set runtime = case runtime when 'none' then 'running' else runtime end, is_deployed = true,
      updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(ctx.db);
  ctx.changed(appTag(appId));
}

/** For who holds the app: no file of it is shown any more; one that runs beside its files is still there. What was suspended stays so: only to resume it ends that. */
export async function markUndeployed(ctx: MutationCtx, { tenantId, appId }: Of): Promise<void> {
  await sql`
    update svc.apps set runtime = case runtime when 'running' then 'none' else runtime end, is_deployed = false,
      updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId} and not exists (
      select from svc.deployments d where d.id = apps.live_deployment_id and d.method <> 'static')`.execute(
    ctx.db,
  );
  ctx.changed(appTag(appId));
}
