import type { MutationCtx } from '../plumbing/context.ts';
import { type PurgedApp, purgeHeldApp } from './purge-held-app.ts';
import { lockAppRow } from './store.ts';

/** By the clock. Null when it was restored, or purged by somebody, since it was found. */
export async function purgeDueApp(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<PurgedApp | null> {
  const app = await lockAppRow(ctx.db, tenantId, appId, 'any');
  const isDue = app?.record === 'deleted' && app.purge_after !== null && app.purge_after <= ctx.now;
  return isDue ? purgeHeldApp(ctx, app) : null;
}
