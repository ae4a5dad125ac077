import { columnSpecText } from '@svc/contract/column-spec.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { columnNamed } from './column-named.ts';
import { dropColumnSql, physicalTable } from './ddl.ts';
import { lockTable } from './lock-table.ts';
import { indexText, specOf } from './rules.ts';
import { saveChange } from './save-change.ts';
import { deleteColumnRow, deleteIndexRows } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

/** Indexes over it go too, and the plan names them. */
export async function dropColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: string },
): Promise<undefined> {
  const row = await lockTable(ctx, input.table);
  const column = columnNamed(row, input.column);
  if (column.role !== 'plain') throw fail('column_in_use', { detail: `Each row has its ${column.name}.` });
  if (column.number === row.owner_column) {
    throw fail('column_in_use', { detail: `${column.name} holds the owners of rows.` });
  }
  const indexes = row.indexes.filter((index) => index.columns.includes(column.number));
  ctx.audit({
    action: 'columns.drop',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before: {
      column: columnSpecText(specOf(column)),
      ...(indexes.length > 0 ? { indexes: indexes.map((index) => indexText(row, index)) } : {}),
    },
    after: null,
  });
  await deleteIndexRows(
    ctx.db,
    ctx.tenant.id,
    indexes.map((index) => index.id),
  );
  await deleteColumnRow(ctx.db, ctx.tenant.id, row.id, column.number);
  await saveChange(ctx, row);
  await withTableLock(
    ctx,
    { table: physicalTable(row), lockOut: 'everyone' },
    dropColumnSql(row, column.number),
  );
}
