import type { AppMutationCtx } from '../plumbing/context.ts';
import { type MovedApp, moveApp } from './move-app.ts';

export function suspendApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, { move: 'suspend' });
}
