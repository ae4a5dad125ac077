import { z } from 'zod';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { iconKey } from './rules.ts';
import type { StoredIcon } from './store.ts';

const Payload = z.object({ keys: z.array(z.string()) });
const keysMax = 100;

/** Once it is certain that no row stands for them. */
export function removeObjects(ctx: Pick<MutationCtx, 'enqueue'>, icons: readonly StoredIcon[]): void {
  const keys = icons.map(iconKey);
  for (let at = 0; at < keys.length; at += keysMax)
    ctx.enqueue('icons.remove', { keys: keys.slice(at, at + keysMax) });
}

export function removeIconObjects({ objects }: { objects: ObjectStore }): Effect {
  return async (payload) => {
    for (const key of Payload.parse(payload).keys) await objects.delete(key);
  };
}
