import { lockApp } from '../apps/app-row.ts';
import { showsAtOnce } from '../static-sites/shows-at-once.ts';
import type { ClaimedWork } from './claimed-work.ts';
import { asHolder } from './end-deployment.ts';
import { isOvertaken } from './rules.ts';
import { type DeploymentRow, findLiveDeploymentRow, updateDeploymentRow } from './store.ts';

/**
 * From here on nobody cancels it, and the app is neither archived nor deleted. Or it is not to be released at all. A site
 * that somebody has to look at first stays what it is, built: its release is made, and takes the place of nothing.
 */
export function beginRelease(work: ClaimedWork): Promise<DeploymentRow | 'canceled' | 'skipped'> {
  return asHolder(work, 'deployments.release', async (ctx, { row }) => {
    const place = { tenantId: row.tenant_id, appId: row.app_id };
    const app = await lockApp(ctx.db, place.tenantId, place.appId);
    if (row.cancel_asked || app?.record !== 'active') return 'canceled';
    if (app.runtime === 'suspended' && row.kind !== 'resume') return 'canceled';
    if (isOvertaken(row, await findLiveDeploymentRow(ctx.db, place))) return 'skipped';
    const isStatic = row.method === 'static';
    const { visibility } = app;
    const asked = { ...place, visibility, deploymentId: row.id, releaseId: row.release_id };
    const isReleasing = !isStatic || (await showsAtOnce(ctx.db, asked));
    const set = {
      state: isReleasing ? 'releasing' : row.state,
      step: isStatic ? 'switch' : 'start',
    } as const;
    await updateDeploymentRow(ctx.db, place, { id: row.id, set });
    return { ...row, ...set };
  });
}
