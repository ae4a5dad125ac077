import type { AppMutationCtx } from '../plumbing/context.ts';
import { type MovedApp, moveApp } from './move-app.ts';

/** From now on its rows can be read only, and it signs nobody in. */
export function archiveApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, { move: 'archive', also: async () => ({ archived_at: ctx.now }) });
}
