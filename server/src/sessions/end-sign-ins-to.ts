import type { MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';
import { deleteAllOfClient } from './store.ts';

/** Ends what everybody is signed in to an app with, and every sign-in to it under way. */
export async function endSignInsTo(ctx: MutationCtx, { appId }: { appId: string }): Promise<void> {
  await deleteAllOfClient(ctx.db, appId);
  ctx.changed(appTag(appId));
}
