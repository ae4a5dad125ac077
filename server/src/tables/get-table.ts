import type { AppCtx } from '../plumbing/context.ts';
import { findTable } from './find-table.ts';
import { tableRecord } from './rules.ts';

export async function getTable(ctx: AppCtx, input: { table: string }) {
  return tableRecord(await findTable(ctx, input.table));
}
