import { keptApp } from '../apps/app-row.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import { type DeploymentRecord, deploymentRecord } from './deployment-record.ts';
import { type DeploymentRow, findDeploymentRow } from './store.ts';

export async function getDeployment(
  ctx: AppCtx,
  { id }: { id: string },
  places: SitePlaces,
): Promise<DeploymentRecord> {
  const row = await findDeploymentRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, id);
  if (!row) throw fail('not_found');
  return recordOf(ctx, row, places);
}

/** With where the app answers by now. */
export async function recordOf(
  ctx: Pick<AppCtx, 'db' | 'tenant' | 'app'>,
  row: DeploymentRow,
  places: SitePlaces,
): Promise<DeploymentRecord> {
  const app = await keptApp(ctx.db, ctx.tenant.id, ctx.app.id);
  return deploymentRecord(row, { subdomain: app?.subdomain ?? null, places });
}
