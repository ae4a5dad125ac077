import { lockApp } from '../apps/app-row.ts';
import type { ClaimedWork } from './claimed-work.ts';
import { asHolder } from './end-deployment.ts';
import { isOvertaken } from './rules.ts';
import { type DeploymentRow, findLiveDeploymentRow, updateDeploymentRow } from './store.ts';

/** From here on nobody cancels it, and the app is neither archived nor deleted. Or it is not to be released at all. */
export function beginRelease(work: ClaimedWork): Promise<DeploymentRow | 'canceled' | 'skipped'> {
  return asHolder(work, 'deployments.release', async (ctx, { row }) => {
    const place = { tenantId: row.tenant_id, appId: row.app_id };
    const app = await lockApp(ctx.db, place.tenantId, place.appId);
    if (row.cancel_asked || app?.record !== 'active') return 'canceled';
    if (app.runtime === 'suspended' && row.kind !== 'resume') return 'canceled';
    if (isOvertaken(row, await findLiveDeploymentRow(ctx.db, place))) return 'skipped';
    const set = { state: 'releasing', step: row.method === 'static' ? 'switch' : 'start' } as const;
    await updateDeploymentRow(ctx.db, place, { id: row.id, set });
    return { ...row, ...set };
  });
}
