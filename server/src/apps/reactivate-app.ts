import type { AppMutationCtx } from '../plumbing/context.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** It does not run by this: what was running when it was archived is suspended. */
export function reactivateApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, { move: 'reactivate', also: async () => ({ archived_at: null }) });
}
