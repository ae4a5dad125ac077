import { indexesPerTableMax } from '@svc/contract/columns.ts';
import type { addIndex as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, validationError } from '../../core/problem.ts';
import { isUuid } from '../../core/values.ts';
import { addIndexSql, dropIndexSql } from './ddl.ts';
import { auditTable, lockTable, requireColumn, requireTable, saveTableChange } from './lock-table.ts';
import { withTableLock } from './physical-lock.ts';
import { defaultIndexName, duplicatePositions, formatIndex, indexRecord, planIndex } from './rules.ts';
import { type ColumnRow, deleteIndexRows, insertIndexRow, type TableRow } from './store.ts';

export async function listIndexes(ctx: AppCtx, input: { table: string; query: PageQuery }) {
  const table = await requireTable(ctx, input.table);
  const records = table.indexes.map((index) => indexRecord(table, index));
  return paginate(input.query, records);
}

/** While the index is built, rows are readable but not writable. */
export async function addIndex(
  ctx: AppMutationCtx,
  input: { table: string; index: z.output<typeof shape.body> },
) {
  const table = await lockTable(ctx, input.table);
  const kind = input.index.unique ? 'unique' : 'plain';
  const columns = requireColumns(table, input.index.columns);
  const plan = planIndex(columns, kind, requireColumn(table, 'id'));
  if (typeof plan === 'string') throw validationError('columns', plan);
  const names = table.indexes.map((index) => index.name);
  const name = input.index.name ?? defaultIndexName(input.index.columns, kind, names);
  if (names.includes(name)) throw fail('unique_violation', { detail: `Index ${name} already exists.` });
  if (names.length >= indexesPerTableMax) {
    throw fail('limit_reached', { detail: `A table can have at most ${indexesPerTableMax} indexes.` });
  }
  const numbers = columns.map((column) => column.number);
  const row = { id: ctx.newId(), name, columns: numbers, is_unique: plan.isUnique };
  const index = { ...row, created_at: ctx.now.toISOString() };
  await insertIndexRow(ctx.db, table, { ...row, created_at: ctx.now });
  await saveTableChange(ctx, table);
  auditTable(ctx, 'indexes.add', table, null, { index: formatIndex(table, index) });
  await withTableLock(ctx, { table, block: 'writers' }, addIndexSql(table, row.id, plan)).catch(
    throwIndexError,
  );
  return indexRecord(table, index);
}

function requireColumns(table: TableRow, names: readonly string[]): ColumnRow[] {
  const [duplicate] = duplicatePositions(names);
  if (duplicate !== undefined) throw validationError(`columns.${duplicate}`, 'is listed twice', 'duplicate');
  return names.map((name, at) => {
    const column = table.columns.find((each) => each.name === name);
    if (!column) throw validationError(`columns.${at}`, 'is not a column of the table', 'unknown_column');
    return column;
  });
}

function throwIndexError(error: unknown): never {
  const state = sqlState(error);
  if (state === '23505') {
    throw fail('unique_violation', { detail: 'Existing rows have the same values.' }, { cause: error });
  }
  if (state === '54000') {
    throw validationError('columns', 'contain a value that is too long for an index', 'too_long');
  }
  throw error;
}

export async function dropIndex(
  ctx: AppMutationCtx,
  input: { table: string; index: string },
): Promise<undefined> {
  const table = await lockTable(ctx, input.table);
  const ref = isUuid(input.index) ? { id: input.index.toLowerCase() } : { name: input.index };
  const index = table.indexes.find(({ id, name }) => id === ref.id || name === ref.name);
  if (!index) throw fail('not_found', { detail: `The table has no index ${input.index}.` });
  await deleteIndexRows(ctx.db, ctx.tenant.id, [index.id]);
  await saveTableChange(ctx, table);
  auditTable(ctx, 'indexes.drop', table, { index: formatIndex(table, index) }, null);
  await withTableLock(ctx, { table, block: 'everyone' }, dropIndexSql(table, index.id));
}
