import { columnSpecText } from '@svc/contract/column-spec.ts';
import { columnsPerTableMax } from '@svc/contract/columns.ts';
import type { addColumn as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { addColumnSql, physicalTable } from './ddl.ts';
import { draftAddedColumn } from './draft-columns.ts';
import { lockTable } from './lock-table.ts';
import { rebuildTable } from './rebuild-table.ts';
import { refuseMissingValues } from './refuse-missing-values.ts';
import { needsRebuild, ownColumns, specOf, tableRecord } from './rules.ts';
import { saveChange } from './save-change.ts';
import { type ColumnRow, insertColumnRows } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

export async function addColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: z.output<typeof shape.body> },
) {
  const draft = draftAddedColumn(input.column);
  const row = await lockTable(ctx, input.table);
  if (row.columns.some((column) => column.name === draft.name)) {
    throw fail('unique_violation', { detail: `The table has a column ${draft.name} already.` });
  }
  if (ownColumns(row.columns) >= columnsPerTableMax) {
    throw fail('limit_reached', { detail: `A table has at most ${columnsPerTableMax} columns.` });
  }
  const column: ColumnRow = { ...draft, number: row.columns_made + 1 };
  await insertColumnRows(ctx.db, ctx.tenant.id, row.id, [column]);
  const rebuilt = needsRebuild(row.attributes_made, 1);
  const saved = await saveChange(ctx, row, {
    columns_made: column.number,
    attributes_made: (rebuilt ? row.columns.length : row.attributes_made) + 1,
  });
  ctx.audit({
    action: 'columns.add',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before: null,
    after: { column: columnSpecText(specOf(column)) },
  });
  if (rebuilt) await rebuildTable(ctx, row);
  const lock = { table: physicalTable(row), lockOut: 'everyone' } as const;
  await withTableLock(ctx, lock, addColumnSql(row, column)).catch(refuseMissingValues);
  return tableRecord({ ...row, ...saved, columns: [...row.columns, column] });
}
