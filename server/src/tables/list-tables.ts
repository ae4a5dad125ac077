import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { placeOf } from './lock-table.ts';
import { tableRecord } from './rules.ts';
import { listTableRows } from './store.ts';

export async function listTables(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listTableRows(ctx.db, placeOf(ctx), windowOf(query));
  return pageAnswer(query, rows.map(tableRecord), total);
}
