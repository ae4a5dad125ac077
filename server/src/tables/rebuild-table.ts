import type { AppMutationCtx } from '../plumbing/context.ts';
import { copyTableSql, physicalTable, swapTableSql } from './ddl.ts';
import { planIndex } from './rules.ts';
import type { TableRow } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

/**
 * Puts a copy in the table's place: PostgreSQL counts columns that were dropped against its limit as long as the table
 * lives. Columns keep their numbers, so that whoever still reads by them reads the same. Rows can be read meanwhile.
 */
export async function rebuildTable(ctx: AppMutationCtx, row: TableRow): Promise<void> {
  const table = physicalTable(row);
  const id = row.columns.find((column) => column.role === 'id');
  const indexes = row.indexes.map((index) => {
    const columns = index.columns.flatMap((number) => row.columns.find((it) => it.number === number) ?? []);
    const plan = id && planIndex(columns, index.is_unique ? 'unique' : 'plain', id);
    if (!plan || typeof plan === 'string') throw new Error(`Index ${index.id} can not be made again.`);
    return { id: index.id, plan };
  });
  await withTableLock(ctx, { table, lockOut: 'writers' }, copyTableSql(row, indexes, ctx.rows.role));
  await withTableLock(ctx, { table, lockOut: 'everyone' }, swapTableSql(row));
}
