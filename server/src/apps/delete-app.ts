import { deletedAppsKeptDays } from '@svc/contract/app-life.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import { closeRawDatabase } from '../raw-db/close-raw-database.ts';
import { endSignInsTo } from '../sessions/end-sign-ins-to.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** Nothing of it is lost yet; all who came in through it are out, for good. */
export function deleteApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'delete',
    also: async (app) => {
      await endSignInsTo(ctx, { appId: app.id });
      await closeRawDatabase(ctx, { tenantId: ctx.tenant.id, appId: app.id });
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
    told: () => ({ after: { purged_after_days: deletedAppsKeptDays } }),
  });
}
