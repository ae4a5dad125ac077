import { stopFor } from '../deployments/stop-for.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { type MovedApp, moveApp } from './move-app.ts';

export function suspendApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'suspend',
    also: async (app) => {
      await stopFor(ctx, { tenantId: ctx.tenant.id, appId: app.id, slug: app.slug });
      return {};
    },
  });
}
