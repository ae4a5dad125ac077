import type { AppMutationCtx } from '../plumbing/context.ts';
import { reopenRawDatabase } from '../raw-db/close-raw-database.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** As it was, with its rows; it does not run by this, and who was signed in to it signs in again. */
export function restoreApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'restore',
    also: async (app) => {
      await reopenRawDatabase(ctx, { tenantId: ctx.tenant.id, appId: app.id });
      return { deleted_from: null, deleted_at: null, purge_after: null };
    },
    told: ({ deleted_at, purge_after }) => ({ before: { deleted_at, purge_after } }),
  });
}
