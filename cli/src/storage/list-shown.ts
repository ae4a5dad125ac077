import type { Answer, Input } from '@svc/contract/endpoint.ts';
import type { listObjects as shape } from '@svc/contract/storage.shapes.ts';
import { listObjects } from '@svc/contract/storage.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import type { StoragePlace } from './storage-place.ts';

type Listing = Answer<typeof shape>;

/** One page, or all of them as one. */
export async function listShown(
  ctx: Ctx,
  { client, params }: StoragePlace,
  { query, pages }: { query: Input<typeof shape>['query']; pages: 'one' | 'all' },
): Promise<Result> {
  const found: Listing = { items: [], prefixes: [], next_cursor: null };
  for (let cursor = query.cursor; ; ) {
    const page = await client.call(
      listObjects,
      { params, query: { ...query, cursor } },
      { signal: ctx.signal },
    );
    found.items.push(...page.items);
    found.prefixes.push(...page.prefixes);
    found.next_cursor = page.next_cursor;
    if (pages === 'one' || page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  const { format } = ctx.globals;
  if (format === 'json' || format === 'yaml') return { value: found };
  // One list, as people read it, and as lines can hold it.
  const rows = [...found.items, ...found.prefixes.map((prefix) => ({ prefix, key: prefix }))];
  rows.sort((one, other) => (one.key < other.key ? -1 : 1));
  const items =
    format === 'table' ? rows : rows.map((row) => ('prefix' in row ? { prefix: row.prefix } : row));
  return { value: { items, next_cursor: found.next_cursor } };
}
