import { listObjects, objectListLimitMax } from '@svc/contract/storage.ts';
import type { Ctx } from '../context.ts';
import type { StoragePlace } from './storage-place.ts';

export interface ListedObject {
  key: string;
  size: number;
}

/** Every object below a prefix. */
export async function listAllObjects(
  ctx: Ctx,
  { client, params }: StoragePlace,
  prefix: string,
): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { prefix, limit: objectListLimitMax, cursor };
    const page = await client.call(listObjects, { params, query }, { signal: ctx.signal });
    found.push(...page.items);
    if (page.next_cursor === null) return found;
    cursor = page.next_cursor;
  }
}
