import { z } from 'zod';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { keysOfBlob } from './blob-key.ts';
import type { StoredBlob } from './blob-store.ts';
import type { AppPlace } from './site-store.ts';

const Payload = z.object({ keys: z.array(z.string()) });
const keysMax = 300;

/** Once it is certain that no row stands for them. Nothing else is ever stored under these keys. */
export function discardBlobs(
  ctx: Pick<MutationCtx, 'enqueue'>,
  place: AppPlace,
  blobs: readonly StoredBlob[],
): void {
  const keys = blobs.flatMap((blob) => keysOfBlob(place, blob));
  for (let at = 0; at < keys.length; at += keysMax)
    ctx.enqueue('static.removeBlobs', { keys: keys.slice(at, at + keysMax) });
}

export function removeBlobs({ objects }: { objects: ObjectStore }): Effect {
  return async (payload) => {
    for (const key of Payload.parse(payload).keys) await objects.delete(key);
  };
}
