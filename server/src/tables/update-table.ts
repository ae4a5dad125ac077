import type { updateTable as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appTag } from './catalogue.ts';
import { lockTable, placeOf } from './lock-table.ts';
import { tableRecord } from './rules.ts';
import { saveChange } from './save-change.ts';
import { findTableRow } from './store.ts';

/** Physical names are ours, so that readers notice nothing of a new name but the name. */
export async function updateTable(
  ctx: AppMutationCtx,
  input: { table: string; set: z.output<typeof shape.body> },
) {
  const row = await lockTable(ctx, input.table);
  const before = { name: row.name, description: row.description };
  const after = { name: input.set.name ?? row.name, description: input.set.description ?? row.description };
  ctx.audit({
    action: 'tables.update',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before,
    after,
  });
  if (isSame(before, after)) return tableRecord(row);
  if (after.name !== before.name) {
    if (await findTableRow(ctx.db, placeOf(ctx), after.name)) {
      throw fail('unique_violation', { detail: `A table ${after.name} exists already.` });
    }
    ctx.changed(appTag(ctx.app.id));
  }
  return tableRecord({ ...row, ...after, ...(await saveChange(ctx, row, after)) });
}
