import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { placeOf } from './lock-table.ts';
import { findTableRow, type TableRow } from './store.ts';

export async function findTable(ctx: AppCtx, ref: string): Promise<TableRow> {
  const row = await findTableRow(ctx.db, placeOf(ctx), ref);
  if (!row) throw fail('not_found');
  return row;
}
