import type { MutationCtx } from '../plumbing/context.ts';
import { type AppPlace, findConnectionRow } from './connection-store.ts';
import { hookToRemove, removeHookTopic } from './remove-hook.ts';

/** Of an app that is purged: its row goes with that of the app, and the hook at the git host after it. */
export async function forgetConnection(
  ctx: MutationCtx,
  place: AppPlace,
): Promise<{ git_connections: number }> {
  const row = await findConnectionRow(ctx.db, place);
  if (row) ctx.enqueue(removeHookTopic, hookToRemove(row));
  return { git_connections: row ? 1 : 0 };
}
