import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { isUuid } from '../plumbing/ref.ts';
import { dropIndexSql, physicalTable } from './ddl.ts';
import { lockTable } from './lock-table.ts';
import { indexText } from './rules.ts';
import { saveChange } from './save-change.ts';
import { deleteIndexRows } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

export async function dropIndex(
  ctx: AppMutationCtx,
  input: { table: string; index: string },
): Promise<undefined> {
  const table = await lockTable(ctx, input.table);
  const ref = isUuid(input.index) ? { id: input.index.toLowerCase() } : { name: input.index };
  const index = table.indexes.find((it) => it.id === ref.id || it.name === ref.name);
  if (!index) throw fail('not_found', { detail: 'The table has no such index.' });
  await deleteIndexRows(ctx.db, ctx.tenant.id, [index.id]);
  await saveChange(ctx, table);
  ctx.audit({
    action: 'indexes.drop',
    appId: ctx.app.id,
    target: { kind: 'table', id: table.id, name: table.name },
    before: { index: indexText(table, index) },
    after: null,
  });
  await withTableLock(
    ctx,
    { table: physicalTable(table), lockOut: 'everyone' },
    dropIndexSql(table, index.id),
  );
}
