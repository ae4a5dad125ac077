import type { Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import type { Ctx } from './context.ts';

interface Page {
  items: unknown[];
  total?: number;
  next_cursor?: string | null;
}

/** Follows a listing to its end, by page or by cursor, and answers as one page that holds everything. */
export async function everyPage(ctx: Ctx, endpoint: Endpoint, input: Input<Shape>): Promise<unknown> {
  const client = await ctx.client();
  const items = new Map<unknown, unknown>();
  let query: Record<string, unknown> = { ...(input.query as object | undefined), per_page: perPageMax };
  for (let page = 1; ; page += 1) {
    const asked = { ...input, query } as unknown as Input<Shape>;
    const answer = (await client.call(endpoint, asked, { signal: ctx.signal })) as Page;
    for (const item of answer.items) items.set(identity(item), item);
    const last =
      answer.next_cursor === undefined
        ? page * perPageMax >= (answer.total ?? 0)
        : answer.next_cursor === null;
    if (last || answer.items.length === 0) return whole([...items.values()], answer);
    query = answer.next_cursor ? { ...query, cursor: answer.next_cursor } : { ...query, page: page + 1 };
  }
}

/** A row added while paging moves others to the next page: by id each appears once. */
function identity(item: unknown): unknown {
  const record = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {};
  return record.id ?? record.seq ?? record.user_id ?? item;
}

function whole(items: unknown[], last: Page): unknown {
  if (last.next_cursor !== undefined) return { items, next_cursor: null };
  return { items, page: 1, per_page: items.length, total: items.length };
}
