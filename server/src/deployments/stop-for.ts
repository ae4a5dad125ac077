import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { endRow } from './end-row.ts';
import { discardTopic } from './expire-artifacts.ts';
import { drainInstancesOf } from './instances-store.ts';
import { deploymentName, workTag } from './queue-deployment.ts';
import {
  type AppPlace,
  listDeploymentRows,
  listKeptRows,
  lockOpenRows,
  updateDeploymentRow,
} from './store.ts';

/**
 * For who holds an app that is suspended, archived or deleted: what waits or is built is canceled, and what runs ends
 * once its requests are answered. Not while old and new are being exchanged.
 */
export async function stopFor(
  ctx: MutationCtx,
  { slug, ...place }: AppPlace & { slug: string },
): Promise<{ canceled: number[] }> {
  const open = await lockOpenRows(ctx.db, place);
  const releasing = open.find(({ state }) => state === 'releasing');
  if (releasing)
    throw fail('deploy_in_progress', { detail: `${deploymentName(slug, releasing)} is being released.` });
  for (const row of open) {
    if (row.state === 'queued') await endRow(ctx, row, { state: 'canceled' });
    else await updateDeploymentRow(ctx.db, place, { id: row.id, set: { cancel_asked: true } });
    ctx.warn(`Deployment #${row.seq} is canceled.`);
  }
  await drainInstancesOf(ctx.db, place, { but: null });
  ctx.changed(appTag(place.appId));
  ctx.changed(workTag);
  return { canceled: open.filter((row) => !row.cancel_asked).map(({ seq }) => seq) };
}

/** For who purges an app, before its rows go: what was built is removed. What runs has no row then, and is ended for that. */
export async function discardFor(ctx: MutationCtx, place: AppPlace): Promise<{ deployments: number }> {
  for (const { runtime, artifact } of await listKeptRows(ctx.db, place)) {
    if (runtime && artifact)
      ctx.enqueue(discardTopic, { tenant_id: place.tenantId, app_id: place.appId, runtime, artifact });
  }
  ctx.changed(workTag);
  const { total } = await listDeploymentRows(ctx.db, place, { window: { limit: 1, offset: 0 } });
  return { deployments: total };
}
