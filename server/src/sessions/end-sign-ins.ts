import { userTag } from '../identity/tags.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { deleteAllOf } from './store.ts';

/** Ends everything a person is signed in with, and every sign-in under way. Their PATs stay as they are. */
export async function endSignIns(ctx: MutationCtx, { userId }: { userId: string }): Promise<void> {
  await deleteAllOf(ctx.db, userId);
  ctx.changed(userTag(userId));
}
