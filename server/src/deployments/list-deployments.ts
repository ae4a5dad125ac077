import { keptApp } from '../apps/app-row.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import { deploymentRecord } from './deployment-record.ts';
import { type DeploymentState, listDeploymentRows } from './store.ts';

export async function listDeployments(
  ctx: AppCtx,
  query: PageQuery & { state?: DeploymentState | undefined },
  places: SitePlaces,
) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const { rows, total } = await listDeploymentRows(ctx.db, place, {
    state: query.state,
    window: windowOf(query),
  });
  const subdomain = (await keptApp(ctx.db, ctx.tenant.id, ctx.app.id))?.subdomain ?? null;
  return pageAnswer(
    query,
    rows.map((row) => deploymentRecord(row, { subdomain, places })),
    total,
  );
}
