import { stopFor } from '../deployments/stop-for.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import type { HeldApp } from './hold-app.ts';
import { type MovedApp, moveApp } from './move-app.ts';

export function suspendApp(ctx: AppMutationCtx): Promise<MovedApp> {
  const stop = (app: HeldApp) => stopFor(ctx, { tenantId: ctx.tenant.id, appId: app.id, slug: app.slug });
  return moveApp(ctx, {
    move: 'suspend',
    also: async (app) => {
      await stop(app);
      return {};
    },
    // Suspended, and on its way back: who suspends it now means that it stays so.
    again: async (app) => {
      const { canceled } = await stop(app);
      if (canceled.length === 0) return null;
      return { before: { resuming: canceled.map((seq) => `#${seq}`).join(', ') }, after: { resuming: null } };
    },
  });
}
