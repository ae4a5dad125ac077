import { literalText } from '@svc/contract/column-spec.ts';
import type { updateColumn as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { checkDefault } from './column-default.ts';
import { columnNamed } from './column-named.ts';
import { physicalTable, setNullableSql } from './ddl.ts';
import { lockTable } from './lock-table.ts';
import { refuseMissingValues } from './refuse-missing-values.ts';
import { isIdDefault, tableRecord } from './rules.ts';
import { saveChange } from './save-change.ts';
import { type ColumnRow, type TableRow, updateColumnRow } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

type Changes = z.output<typeof shape.body>;

/** Only whether it may be null is known to PostgreSQL; the rest is the catalogue's, and no reader waits for it. */
export async function updateColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: string; set: Changes },
) {
  const row = await lockTable(ctx, input.table);
  const before = columnNamed(row, input.column);
  const after = changed(row, before, input.set);
  ctx.audit({
    action: 'columns.update',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before: audited(before),
    after: audited(after),
  });
  if (isSame(before, after)) return tableRecord(row);
  await updateColumnRow(ctx.db, ctx.tenant.id, row.id, after);
  const saved = await saveChange(ctx, row);
  if (after.nullable !== before.nullable) {
    const lock = { table: physicalTable(row), lockOut: 'everyone' } as const;
    await withTableLock(ctx, lock, setNullableSql(row, after)).catch(refuseMissingValues);
  }
  const columns = row.columns.map((column) => (column === before ? after : column));
  return tableRecord({ ...row, ...saved, columns });
}

function changed(row: TableRow, column: ColumnRow, set: Changes): ColumnRow {
  const after: ColumnRow = {
    ...column,
    name: set.name ?? column.name,
    nullable: set.nullable ?? column.nullable,
    default_text: set.default === undefined ? column.default_text : defaultText(column, set.default),
  };
  if (after.name !== column.name) {
    if (column.role === 'id') throw fail('immutable_field', { detail: 'The id keeps its name.' });
    if (row.columns.some((other) => other.name === after.name)) {
      throw fail('unique_violation', { detail: `The table has a column ${after.name} already.` });
    }
  }
  if (column.role !== 'plain' && after.nullable) {
    throw fail('immutable_field', { detail: `${column.name} always has a value.` });
  }
  return after;
}

function defaultText(column: ColumnRow, given: Exclude<Changes['default'], undefined>): string | null {
  const literal = literalText(column.type, given);
  if (!literal.ok) throw invalid('default', literal.detail);
  const { text } = literal;
  if (text === null) return null;
  const checked = checkDefault(column.type, text);
  if (!checked.ok) throw invalid('default', checked.detail);
  const isTime = column.role === 'created_at' || column.role === 'updated_at';
  const isBadId = column.role === 'id' && !isIdDefault({ type: column.type, default: text });
  if (isTime || isBadId) throw fail('immutable_field', { detail: `The service fills ${column.name} in.` });
  return checked.value;
}

function audited({ name, nullable, default_text }: ColumnRow): Record<string, unknown> {
  return { name, nullable, default: default_text };
}
