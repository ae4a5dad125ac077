import type { AppMutationCtx } from '../plumbing/context.ts';
import { appTag, tableTag } from './catalogue.ts';
import { dropTableSql, physicalTable } from './ddl.ts';
import { lockTable } from './lock-table.ts';
import { auditedTable } from './rules.ts';
import { deleteTableRow } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

/** Its grants go with it: a table that bears the name later begins with none. */
export async function dropTable(ctx: AppMutationCtx, input: { table: string }): Promise<undefined> {
  const row = await lockTable(ctx, input.table);
  await deleteTableRow(ctx.db, ctx.tenant.id, row.id);
  ctx.audit({
    action: 'tables.drop',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before: auditedTable(row),
    after: null,
  });
  ctx.changed(appTag(ctx.app.id));
  ctx.changed(tableTag(row.id));
  await withTableLock(ctx, { table: physicalTable(row), lockOut: 'everyone' }, dropTableSql(row));
}
