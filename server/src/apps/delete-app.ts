import { deletedAppsKeptDays } from '@svc/contract/app-life.ts';
import { stopFor } from '../deployments/stop-for.ts';
import { detachDomains } from '../domains/detach-domains.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import { closeRawDatabase } from '../raw-db/close-raw-database.ts';
import type { Told } from '../review/end-request.ts';
import { withdrawOpenRequest } from '../review/withdraw-open-request.ts';
import { endSignInsTo } from '../sessions/end-sign-ins-to.ts';
import { cancelPromotion } from '../static-sites/cancel-promotion.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** Nothing of it is lost yet; all who came in through it are out, for good. */
export function deleteApp(ctx: AppMutationCtx): Promise<MovedApp> {
  let promotion: Awaited<ReturnType<typeof cancelPromotion>> | undefined;
  let publication: Told | undefined;
  let domains: readonly string[] = [];
  return moveApp(ctx, {
    move: 'delete',
    also: async (app) => {
      await stopFor(ctx, { tenantId: ctx.tenant.id, appId: app.id, slug: app.slug });
      await endSignInsTo(ctx, { appId: app.id });
      promotion = await cancelPromotion(ctx, { tenantId: ctx.tenant.id, appId: app.id });
      const place = { tenantId: ctx.tenant.id, appId: app.id };
      publication = await withdrawOpenRequest(ctx, place, { why: 'deleted' });
      await closeRawDatabase(ctx, { tenantId: ctx.tenant.id, appId: app.id });
      domains = (await detachDomains(ctx, { tenantId: ctx.tenant.id, appId: app.id })).hosts;
      if (domains.length > 0)
        ctx.warn('Its custom domains are detached, and are to be added again when it is restored.');
      ctx.warn(
        `For ${deletedAppsKeptDays} days, svc apps restore ${app.slug} --execute brings it back; then it is purged.`,
      );
      ctx.warn('All who are signed in to it are signed out, and stay so when it is restored.');
      return {
        deleted_from: app.record === 'archived' ? 'archived' : 'active',
        deleted_at: ctx.now,
        purge_after: daysAfter(ctx.now, deletedAppsKeptDays),
      };
    },
    // Days, not the date: a preview and the execution after it must tell the same.
    told: () => ({
      before: { ...promotion?.before, ...publication?.before, ...(domains.length > 0 && { domains }) },
      after: {
        ...promotion?.after,
        ...publication?.after,
        purged_after_days: deletedAppsKeptDays,
        ...(domains.length > 0 && { domains: [] }),
      },
    }),
  });
}
