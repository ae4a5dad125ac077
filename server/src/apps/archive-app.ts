import { stopFor } from '../deployments/stop-for.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import type { Told } from '../review/end-request.ts';
import { withdrawOpenRequest } from '../review/withdraw-open-request.ts';
import { cancelPromotion } from '../static-sites/cancel-promotion.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** From now on its rows can be read only, and it signs nobody in. */
export function archiveApp(ctx: AppMutationCtx): Promise<MovedApp> {
  let promotion: Awaited<ReturnType<typeof cancelPromotion>> | undefined;
  let publication: Told | undefined;
  return moveApp(ctx, {
    move: 'archive',
    also: async (app) => {
      await stopFor(ctx, { tenantId: ctx.tenant.id, appId: app.id, slug: app.slug });
      const place = { tenantId: ctx.tenant.id, appId: app.id };
      promotion = await cancelPromotion(ctx, place);
      publication = await withdrawOpenRequest(ctx, place, { why: 'archived' });
      return { archived_at: ctx.now };
    },
    told: () => ({
      before: { ...promotion?.before, ...publication?.before },
      after: { ...promotion?.after, ...publication?.after },
    }),
  });
}
