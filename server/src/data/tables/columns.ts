import { type ColumnSpec, columnSpecText, literalText } from '@svc/contract/column-spec.ts';
import { columnsPerTableMax } from '@svc/contract/columns.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import type { addColumn as shape, updateColumn as updateColumnShape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { fail, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { isNamedByRules, renameInRules } from './access.ts';
import {
  addColumnSql,
  copyTableSql,
  dropColumnSql,
  type Statement,
  setNullableSql,
  swapTableSql,
} from './ddl.ts';
import { auditTable, lockTable, requireColumn, saveTableChange } from './lock-table.ts';
import { requireUnnamedColumn } from './named-by-access.ts';
import { withTableLock } from './physical-lock.ts';
import {
  columnSpec,
  countDeclaredColumns,
  duplicatePositions,
  formatIndex,
  idColumnProblem,
  isIdDefault,
  type NewColumn,
  needsRebuild,
  planIndex,
  tableRecord,
} from './rules.ts';
import {
  type ColumnRow,
  deleteColumnRow,
  deleteIndexRows,
  insertColumnRows,
  type TableRow,
  updateColumnRow,
} from './store.ts';
import { parseDefaultText } from './values.ts';

export async function addColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: z.output<typeof shape.body> },
) {
  const draft = parseColumn(input.column, '');
  if (isProblem(draft)) throw columnsError([draft]);
  const row = await lockTable(ctx, input.table);
  if (row.columns.some((column) => column.name === draft.name)) {
    throw fail('unique_violation', { detail: `Column ${draft.name} already exists.` });
  }
  if (countDeclaredColumns(row.columns) >= columnsPerTableMax) {
    throw fail('limit_reached', { detail: `A table can have at most ${columnsPerTableMax} columns.` });
  }
  const column: ColumnRow = { ...draft, number: row.columns_made + 1 };
  await insertColumnRows(ctx.db, row, [column]);
  const isRebuilt = needsRebuild(row.attributes_made, 1);
  const saved = await saveTableChange(ctx, row, {
    columns_made: column.number,
    attributes_made: (isRebuilt ? row.columns.length : row.attributes_made) + 1,
  });
  auditTable(ctx, 'columns.add', row, null, { column: columnSpecText(columnSpec(column)) });
  if (isRebuilt) await rebuildTable(ctx, row);
  await alterTable(ctx, row, addColumnSql(row, column));
  return tableRecord({ ...row, ...saved, columns: [...row.columns, column] });
}

type ColumnChanges = z.output<typeof updateColumnShape.body>;

/** Only `nullable` changes the physical table; the rest is in the catalogue, so no reader waits. */
export async function updateColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: string; set: ColumnChanges },
) {
  const row = await lockTable(ctx, input.table);
  const before = requireColumn(row, input.column);
  const after = changedColumn(row, before, input.set);
  auditTable(ctx, 'columns.update', row, columnAudit(before), columnAudit(after));
  if (isDeepEqual(before, after)) return tableRecord(row);
  if (after.name !== before.name) await requireUnnamedColumn(ctx, row, before.name);
  await updateColumnRow(ctx.db, row, after);
  const rename = (name: string) => (name === before.name ? after.name : name);
  const saved = await saveTableChange(ctx, row, { rules: renameInRules(row.rules, rename) });
  if (after.nullable !== before.nullable) await alterTable(ctx, row, setNullableSql(row, after));
  const columns = row.columns.map((column) => (column === before ? after : column));
  return tableRecord({ ...row, ...saved, columns });
}

function changedColumn(row: TableRow, column: ColumnRow, set: ColumnChanges): ColumnRow {
  const after: ColumnRow = {
    ...column,
    name: set.name ?? column.name,
    nullable: set.nullable ?? column.nullable,
    default_text: set.default === undefined ? column.default_text : parseDefault(column, set.default),
  };
  if (after.name !== column.name) {
    if (column.role === 'id') throw fail('immutable_field', { detail: 'The id column cannot be renamed.' });
    if (row.columns.some((other) => other.name === after.name)) {
      throw fail('unique_violation', { detail: `Column ${after.name} already exists.` });
    }
  }
  if (column.role !== 'plain' && after.nullable) {
    throw fail('immutable_field', { detail: `${column.name} cannot be nullable.` });
  }
  return after;
}

function parseDefault(column: ColumnRow, value: Exclude<ColumnChanges['default'], undefined>): string | null {
  const literal = literalText(column.type, value);
  if (!literal.ok) throw validationError('default', literal.detail);
  const { text } = literal;
  if (text === null) return null;
  const checked = parseDefaultText(column.type, text);
  if (!checked.ok) throw validationError('default', checked.detail);
  const isTime = column.role === 'created_at' || column.role === 'updated_at';
  const isBadId = column.role === 'id' && !isIdDefault({ type: column.type, default: text });
  if (isTime || isBadId) throw fail('immutable_field', { detail: `The service sets ${column.name}.` });
  return checked.value;
}

function columnAudit({ name, nullable, default_text }: ColumnRow): Record<string, unknown> {
  return { name, nullable, default: default_text };
}

export async function dropColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: string },
): Promise<undefined> {
  const row = await lockTable(ctx, input.table);
  const column = requireColumn(row, input.column);
  if (column.role !== 'plain')
    throw fail('column_in_use', { detail: `Every table has the column ${column.name}.` });
  if (column.number === row.owner_column)
    throw fail('column_in_use', { detail: `${column.name} is the owner column.` });
  if (isNamedByRules(row.rules, column.name))
    throw fail('column_in_use', { detail: `The access rules of the table name ${column.name}.` });
  await requireUnnamedColumn(ctx, row, column.name);
  const indexes = row.indexes.filter((index) => index.columns.includes(column.number));
  const lost = {
    column: columnSpecText(columnSpec(column)),
    ...(indexes.length > 0 && { indexes: indexes.map((index) => formatIndex(row, index)) }),
  };
  auditTable(ctx, 'columns.drop', row, lost, null);
  const indexIds = indexes.map(({ id }) => id);
  await deleteIndexRows(ctx.db, ctx.tenant.id, indexIds);
  await deleteColumnRow(ctx.db, row, column.number);
  await saveTableChange(ctx, row);
  await alterTable(ctx, row, dropColumnSql(row, column.number));
}

export function parseColumns(specs: readonly ColumnSpec[]): NewColumn[] {
  const duplicates = duplicatePositions(specs.map((spec) => spec.name)).map((at) => ({
    field: `columns.${at}.name`,
    code: 'duplicate',
    detail: `${specs[at]?.name} is declared twice`,
  }));
  const drafts = specs.map((spec, at) => parseColumn(spec, `columns.${at}.`));
  const problems = [...duplicates, ...drafts.filter(isProblem)];
  if (problems.length > 0) throw columnsError(problems);
  return drafts.filter((draft): draft is NewColumn => !isProblem(draft));
}

function parseColumn(spec: ColumnSpec, prefix: string): NewColumn | ProblemItem {
  const { name, type, nullable } = spec;
  const isId = name === 'id';
  const problem = isId ? idColumnProblem(spec) : null;
  if (problem) return { field: `${prefix}${problem.field}`, code: 'invalid', detail: problem.detail };
  const column: NewColumn = { name, type, nullable, default_text: null, role: isId ? 'id' : 'plain' };
  if (spec.default === null) return column;
  const checked = parseDefaultText(type, spec.default);
  if (!checked.ok) return { field: `${prefix}default`, code: 'invalid', detail: checked.detail };
  return { ...column, default_text: checked.value };
}

const isProblem = (draft: NewColumn | ProblemItem): draft is ProblemItem => 'code' in draft;

function columnsError(items: readonly ProblemItem[]) {
  const [first] = items;
  return fail('validation_failed', {
    detail: `${first?.field}: ${first?.detail}`,
    errors: items.slice(0, problemsMax),
  });
}

const problemsMax = 100;

/**
 * PostgreSQL counts dropped columns against its limit for the life of a table: copy it. Columns keep their
 * numbers.
 */
async function rebuildTable(ctx: AppMutationCtx, row: TableRow): Promise<void> {
  const id = row.columns.find((column) => column.role === 'id');
  const indexes = row.indexes.map((index) => {
    const columns = index.columns.flatMap(
      (number) => row.columns.find((column) => column.number === number) ?? [],
    );
    const plan = id && planIndex(columns, index.is_unique ? 'unique' : 'plain', id);
    if (!plan || typeof plan === 'string') throw new Error(`Index ${index.id} cannot be rebuilt.`);
    return { id: index.id, plan };
  });
  await withTableLock(ctx, { table: row, block: 'writers' }, copyTableSql(row, indexes, ctx.rows.role));
  await alterTable(ctx, row, swapTableSql(row));
}

async function alterTable(ctx: AppMutationCtx, table: TableRow, sql: readonly Statement[]): Promise<void> {
  try {
    await withTableLock(ctx, { table, block: 'everyone' }, sql);
  } catch (cause) {
    throw sqlState(cause) === '23502' ? fail('not_null_violation', {}, { cause }) : cause;
  }
}
