import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { checkTier } from './check-tier.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** A refusal leaves it suspended. The tenant's maximum may have come down since the app ran last. */
export function resumeApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'resume',
    also: async (app) => {
      if (!app.is_deployed) throw fail('no_successful_deployment');
      await checkTier(ctx, app.resource_preset);
      return {};
    },
  });
}
