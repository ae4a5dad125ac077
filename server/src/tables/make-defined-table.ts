import type { AppMutationCtx } from '../plumbing/context.ts';
import { addIndex } from './add-index.ts';
import { createTable } from './create-table.ts';
import type { TableDefinition } from './table-definitions.ts';
import { updateColumn } from './update-column.ts';

/** By the very steps that an owner would take. */
export async function makeDefinedTable(
  ctx: AppMutationCtx,
  { renames = [], indexes = [], ...table }: TableDefinition,
): Promise<void> {
  await createTable(ctx, table);
  for (const { from, to } of renames)
    await updateColumn(ctx, { table: table.name, column: from, set: { name: to } });
  for (const index of indexes) await addIndex(ctx, { table: table.name, index });
}
