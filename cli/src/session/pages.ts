import type { Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import type { Ctx } from '../context.ts';

interface Page {
  items: unknown[];
  total?: number;
  next_cursor?: string | null;
}

export async function fetchAllPages<S extends Shape>(
  ctx: Ctx,
  endpoint: Endpoint<S>,
  input: Input<S>,
): Promise<unknown> {
  const client = await ctx.client();
  const items = new Map<unknown, unknown>();
  const { limit: _, ...requested } = { limit: undefined, ...(input.query as object | undefined) };
  let query: Record<string, unknown> = { ...requested, per_page: perPageMax };
  const shows = !ctx.globals.quiet && (await ctx.io.isTerminal('stderr'));
  for (let page = 1; ; page += 1) {
    const next: Input<S> = { ...input, query };
    const answer = (await client.call(endpoint, next)) as Page;
    for (const item of answer.items) items.set(itemKey(item), item);
    const last =
      answer.next_cursor === undefined
        ? page * perPageMax >= (answer.total ?? 0)
        : // A repeated cursor would loop for ever.
          answer.next_cursor === null || answer.next_cursor === query.cursor;
    if (shows && (page > 1 || !last))
      ctx.io.err(`\r\u001b[K${last ? '' : progress(items.size, answer.total)}`);
    if (last || answer.items.length === 0) return mergedPage([...items.values()], answer);
    query = answer.next_cursor ? { ...query, cursor: answer.next_cursor } : { ...query, page: page + 1 };
  }
}

function progress(done: number, total: number | undefined): string {
  return `${done}${total === undefined ? '' : ` of ${total}`} so far`;
}

/** An entry added while paging moves others to the next page: the key keeps each once. */
function itemKey(item: unknown): unknown {
  const record = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {};
  return record.id ?? record.seq ?? record.user_id ?? item;
}

function mergedPage(items: unknown[], last: Page): unknown {
  if (last.total === undefined) return { items, next_cursor: null };
  const cursor = last.next_cursor === undefined ? {} : { next_cursor: null };
  return { items, page: 1, per_page: items.length, total: items.length, ...cursor };
}

export async function fetchPages<S extends Shape>(
  ctx: Ctx,
  { endpoint, input, pages }: { endpoint: Endpoint<S>; input: Input<S>; pages: 'one' | 'all' },
): Promise<unknown> {
  if (pages === 'all') return fetchAllPages(ctx, endpoint, input);
  return (await ctx.client()).call(endpoint, input);
}
