import type { AppMutationCtx } from '../plumbing/context.ts';
import { tableTag } from './catalogue.ts';
import { type TableRow, updateTableRow } from './store.ts';

/** Every change of a table counts its version up, and drops what is cached of it. Returns the table as it is then. */
export async function saveChange(
  ctx: AppMutationCtx,
  row: TableRow,
  set: Partial<Pick<TableRow, 'name' | 'description' | 'columns_made' | 'attributes_made'>> = {},
): Promise<Pick<TableRow, 'version' | 'updated_at'> & typeof set> {
  const saved = { ...set, version: row.version + 1, updated_at: ctx.now };
  await updateTableRow(ctx.db, ctx.tenant.id, row.id, saved);
  ctx.changed(tableTag(row.id));
  return saved;
}
