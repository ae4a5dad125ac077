import { indexesPerTableMax } from '@svc/contract/columns.ts';
import type { addIndex as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { columnNamed } from './column-named.ts';
import { addIndexSql, physicalTable } from './ddl.ts';
import { lockTable } from './lock-table.ts';
import { indexNameFor, indexRecord, indexText, namedTwice, planIndex } from './rules.ts';
import { saveChange } from './save-change.ts';
import { type ColumnRow, insertIndexRow, type TableRow } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

/** Rows can be read while it is built, not written. */
export async function addIndex(
  ctx: AppMutationCtx,
  input: { table: string; index: z.output<typeof shape.body> },
) {
  const table = await lockTable(ctx, input.table);
  const kind = input.index.unique ? 'unique' : 'plain';
  const columns = columnsOf(table, input.index.columns);
  const plan = planIndex(columns, kind, columnNamed(table, 'id'));
  if (typeof plan === 'string') throw invalid('columns', plan);
  const taken = table.indexes.map((index) => index.name);
  const name = input.index.name ?? indexNameFor(input.index.columns, kind, taken);
  if (taken.includes(name)) {
    throw fail('unique_violation', { detail: `The table has an index ${name} already.` });
  }
  if (taken.length >= indexesPerTableMax) {
    throw fail('limit_reached', { detail: `A table has at most ${indexesPerTableMax} indexes.` });
  }
  const row = {
    id: ctx.newId(),
    name,
    columns: columns.map((column) => column.number),
    is_unique: plan.isUnique,
  };
  const index = { ...row, created_at: ctx.now.toISOString() };
  await insertIndexRow(ctx.db, ctx.tenant.id, table.id, { ...row, created_at: ctx.now });
  await saveChange(ctx, table);
  ctx.audit({
    action: 'indexes.add',
    appId: ctx.app.id,
    target: { kind: 'table', id: table.id, name: table.name },
    before: null,
    after: { index: indexText(table, index) },
  });
  const lock = { table: physicalTable(table), lockOut: 'writers' } as const;
  await withTableLock(ctx, lock, addIndexSql(table, row.id, plan)).catch(refuseRows);
  return indexRecord(table, index);
}

function columnsOf(table: TableRow, names: readonly string[]): ColumnRow[] {
  const [twice] = namedTwice(names);
  if (twice !== undefined) throw invalid(`columns.${twice}`, 'is named twice', 'duplicate');
  return names.map((name, at) => {
    const column = table.columns.find((it) => it.name === name);
    if (!column) throw invalid(`columns.${at}`, 'is no column of the table', 'unknown_column');
    return column;
  });
}

/** What rows that are there hold against it. */
function refuseRows(error: unknown): never {
  const state = sqlState(error);
  if (state === '23505') {
    throw fail('unique_violation', { detail: 'Rows that are there have the same values.' }, { cause: error });
  }
  if (state === '54000') {
    throw invalid('columns', 'hold a value that is too long to be indexed', 'too_long');
  }
  throw error;
}
