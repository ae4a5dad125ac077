import { changeRow } from './change-row.ts';
import { emptyAnswer, type RowsCtx } from './context.ts';
import { theRow } from './get-row.ts';
import { deleteSql } from './sql.ts';

export async function deleteRow(ctx: RowsCtx, id: string, dryRun: boolean) {
  const row = theRow(ctx, id);
  return changeRow(ctx, {
    id,
    row,
    dryRun,
    operation: { id: 'rows.delete', irreversible: true },
    statement: (version) => deleteSql(ctx.table, row, version, ctx.table.all),
    answer: () => emptyAnswer(204),
  });
}
