import { sql } from 'kysely';
import { keptApp } from '../apps/app-row.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { goLive, retireLive } from './go-live.ts';
import { type AppPlace, findDeploymentOfRelease, findLiveDeploymentRow } from './store.ts';

/**
 * Under the app's lock: visitors of the app's site see this release from now on, so its deployment is what is live; where
 * it has none, no deployment is. An app that is no site of files alone goes on as it is.
 */
export async function releaseBecameActive(
  ctx: MutationCtx,
  { releaseId, ...place }: AppPlace & { releaseId: string },
): Promise<void> {
  const app = await keptApp(ctx.db, place.tenantId, place.appId);
  if (app?.deploy_method !== 'static') return;
  const row = await findDeploymentOfRelease(ctx.db, place, releaseId);
  if (row?.state === 'live') return;
  if (row) return goLive(ctx, { slug: app.slug, row, releaseId });
  if (!(await findLiveDeploymentRow(ctx.db, place))) return;
  await retireLive(ctx, place);
  await sql`update svc.apps set live_deployment_id = null where tenant_id = ${place.tenantId} and id = ${place.appId}`.execute(
    ctx.db,
  );
}
