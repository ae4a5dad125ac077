import { advance, type ClaimedWork } from './claimed-work.ts';
import { LostDeployment } from './deployment-failure.ts';
import { asHolder } from './end-deployment.ts';
import { goLive } from './go-live.ts';
import {
  deleteInstanceRow,
  drainInstancesOf,
  insertInstanceRow,
  listInstancesOf,
  saveReady,
} from './instances-store.ts';
import type { DeploymentRow } from './store.ts';

/** Started beside what is live, looked at, and only then put in its place. */
export async function releaseInstance(work: ClaimedWork, row: DeploymentRow): Promise<void> {
  const { parts, instances, log, signal } = work;
  await endLeftovers(work);
  const id = Bun.randomUUIDv7();
  const { tenant_id, app_id, id: deployment_id } = row;
  await insertInstanceRow(parts.db, { id, tenant_id, app_id, deployment_id, node: parts.runtime.node });
  log.sink('platform', 'Starting …');
  await instances.bringUp(id, row, signal);
  await advance(work, 'releasing', { step: 'switch' });
  await asHolder(work, 'deployments.live', async (ctx, held) => {
    if (held.row.state !== 'releasing' || !(await saveReady(ctx.db, id))) throw new LostDeployment();
    const place = { tenantId: tenant_id, appId: app_id };
    await drainInstancesOf(ctx.db, place, { but: deployment_id });
    await goLive(ctx, held);
  });
  log.sink('platform', 'Healthy, and live.');
}

/** What a copy of the server started for it that is silent now. Those of other places are ended there, for want of a row. */
async function endLeftovers({ parts, instances, claimed }: ClaimedWork): Promise<void> {
  for (const instance of await listInstancesOf(parts.db, claimed.id)) {
    if (instance.node === parts.runtime.node) await instances.end(instance);
    else await deleteInstanceRow(parts.db, instance.id);
  }
}
