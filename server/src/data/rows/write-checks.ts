import { fail } from '../../core/problem.ts';
import { always, type PlannedCondition } from '../tables/conditions.ts';
import { changeable, type RowAction } from './access.ts';
import type { RowsCtx } from './context.ts';
import type { RowInput } from './parse-row.ts';
import type { TableAccess } from './table-access.ts';

export function requireAction(
  { access, app, isReadOnly, refusal }: Pick<TableAccess, 'access' | 'app' | 'isReadOnly' | 'refusal'>,
  action: RowAction | undefined,
): void {
  const isRead = action === 'read' || action === 'export';
  // Not 404: callers with some access may know that the table exists.
  if (!action) throw fail('forbidden');
  if (!access.actions.has(action))
    throw isReadOnly && !isRead ? fail('connector_read_only') : (refusal?.(action) ?? fail('forbidden'));
  if (!isRead && app.record === 'archived') throw fail('app_not_active');
}

/** Whether ids mean something to the caller: they see them, or know only those that they inserted. */
export function isAddressable({ table, access }: RowsCtx): boolean {
  return table.key.name !== '' || !access.actions.has('read');
}

export const refusedRow = () =>
  fail('forbidden', { detail: 'The rules of the table do not allow this row.' });

export function presentColumns({ table }: RowsCtx, input: RowInput): string[] {
  return table.catalogue.columns.flatMap(({ name }, at) => (input[at] === undefined ? [] : [name]));
}

/** What a new row with these columns must meet, beyond what was checked already. */
export function insertCheck(
  { access, table, caller }: RowsCtx,
  columns: readonly string[],
): PlannedCondition {
  const check = changeable(access, 'insert', columns);
  const isOwnRow =
    access.insertsOwn &&
    check.kind === 'test' &&
    check.op === 'eq' &&
    !check.negated &&
    check.column === table.catalogue.owner &&
    check.value === caller.userId;
  return isOwnRow ? always : check;
}
