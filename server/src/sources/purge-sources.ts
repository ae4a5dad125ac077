import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { sourcePrefix } from './source-key.ts';

/** What was uploaded for an app that is to be no more; the rows go with the app's. */
export function purgeSources(ctx: Pick<MutationCtx, 'enqueue'>, { tenantId, appId }: AppPlace): void {
  ctx.enqueue('sources.discardApp', { tenantId, appId });
}

export function removeSourcesOfApp({ objects }: { objects: ObjectStore }): Effect {
  return async (payload) => {
    for await (const { key } of objects.list(sourcePrefix(payload as unknown as AppPlace)))
      await objects.delete(key);
  };
}
