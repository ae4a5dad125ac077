import { changeRow } from './change-row.ts';
import { emptyAnswer, jsonAnswer, type RowsCtx } from './context.ts';
import { rowEtag } from './etag.ts';
import { theRow } from './get-row.ts';
import { readChanges } from './read-row.ts';
import { type InsertedColumn, updateSql } from './sql.ts';
import { preferencesOf } from './write-options.ts';

/** So much at a time may be added without a look at the whole row. */
const smallChange = 4 * 1024;

export async function updateRow(ctx: RowsCtx, id: string, body: string, dryRun: boolean) {
  const row = theRow(ctx, id);
  const changes: InsertedColumn[] = readChanges(ctx.table, body);
  const touched = ctx.table.catalogue.columns.find(({ role }) => role === 'updated_at');
  // A change of nothing leaves the row as it is, its time and its version included.
  if (changes.length > 0 && touched) changes.push({ column: touched, value: { sql: 'now()' } });
  const minimal = !ctx.access.read || preferencesOf(ctx.request).returns === 'minimal';
  return changeRow(ctx, {
    id,
    row,
    dryRun,
    grows: body.length > smallChange,
    operation: { id: 'rows.update', irreversible: false },
    statement: (version) => updateSql(ctx.table, changes, row, version, ctx.table.all),
    answer: ({ json, rest }) => {
      const headers = { etag: rowEtag(ctx.table, rest[1] ?? '') };
      return minimal ? emptyAnswer(204, headers) : jsonAnswer(200, json, headers);
    },
  });
}
