import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { findTable } from './find-table.ts';
import { indexRecord } from './rules.ts';

export async function listIndexes(ctx: AppCtx, input: { table: string; query: PageQuery }) {
  const table = await findTable(ctx, input.table);
  return pageOf(
    input.query,
    table.indexes.map((index) => indexRecord(table, index)),
  );
}
