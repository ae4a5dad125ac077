import { perPageMax } from '@svc/contract/limits.ts';
import { groupsPerPageMax } from '@svc/contract/rows.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { rowsResult } from './row-command.ts';
import type { QueryPair, RowsClient } from './rows-client.ts';

export interface RowsPage {
  data: Record<string, unknown>[];
  page: number;
  per_page: number;
  has_more: boolean;
  next_cursor: string | null;
}

export async function listPage(
  ctx: Ctx,
  rows: RowsClient,
  query: readonly QueryPair[],
  of?: 'aggregate',
): Promise<Result> {
  const page = (await rows.call({ of, query })).body as RowsPage;
  return rowsResult(ctx, page, page.data);
}

export async function listMany(
  ctx: Ctx,
  rows: RowsClient,
  { query, limit, of }: { query: readonly QueryPair[]; limit: number; of?: 'aggregate' },
): Promise<Result> {
  const sizeMax = of === 'aggregate' ? groupsPerPageMax : perPageMax;
  const found: RowsPage['data'] = [];
  let last: RowsPage | undefined;
  for (let left = limit; left > 0 && (last === undefined || last.next_cursor !== null); ) {
    const cursor: QueryPair[] = last?.next_cursor ? [['cursor', last.next_cursor]] : [];
    const size: QueryPair = ['per_page', String(Math.min(left, sizeMax))];
    const { body } = await rows.call({ of, query: [...withoutCursor(query, last), ...cursor, size] });
    last = body as RowsPage;
    left -= last.data.length;
    if (ctx.globals.format === 'jsonl') await ctx.io.out(last.data.map(line).join(''));
    else found.push(...last.data);
    if (last.data.length === 0) break;
  }
  if (ctx.globals.format === 'jsonl') return { value: [], printed: true };
  const rest = { has_more: last?.has_more ?? false, next_cursor: last?.next_cursor ?? null };
  return rowsResult(ctx, { data: found, page: 1, per_page: found.length, ...rest }, found);
}

/** The initial cursor applies to the first page only. */
function withoutCursor(query: readonly QueryPair[], last: RowsPage | undefined): readonly QueryPair[] {
  return last === undefined ? query : query.filter(([name]) => name !== 'cursor');
}

function line(row: unknown): string {
  return `${JSON.stringify(row)}\n`;
}
