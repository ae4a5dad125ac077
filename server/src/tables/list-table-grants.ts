import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { findTable } from './find-table.ts';
import { listTableGrantRows } from './grants-store.ts';
import { tableGrantRecords } from './table-grant-record.ts';

export async function listTableGrants(ctx: AppCtx, input: { table: string; query: PageQuery }) {
  const table = await findTable(ctx, input.table);
  const rows = await listTableGrantRows(ctx.db, ctx.tenant.id, table.id);
  return pageOf(input.query, await tableGrantRecords(ctx, rows));
}
