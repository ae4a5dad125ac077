import { stopFor } from '../deployments/stop-for.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { cancelPromotion } from '../static-sites/cancel-promotion.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** From now on its rows can be read only, and it signs nobody in. */
export function archiveApp(ctx: AppMutationCtx): Promise<MovedApp> {
  let promotion: Awaited<ReturnType<typeof cancelPromotion>> | undefined;
  return moveApp(ctx, {
    move: 'archive',
    also: async (app) => {
      await stopFor(ctx, { tenantId: ctx.tenant.id, appId: app.id, slug: app.slug });
      promotion = await cancelPromotion(ctx, { tenantId: ctx.tenant.id, appId: app.id });
      return { archived_at: ctx.now };
    },
    told: () => promotion ?? {},
  });
}
