import { brokenCheck } from '@svc/contract/column-checks.ts';
import { refTarget } from '@svc/contract/column-families.ts';
import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import { columnsPerTableMax, indexesPerTableMax } from '@svc/contract/columns.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import type { addColumn as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { isNamedByRules, requireUnnamedColumn } from './access.ts';
import { alterTable, rebuildTable } from './alter-table.ts';
import { addColumnSql, dropColumnSql, dropVectorsSql } from './ddl.ts';
import {
  auditTable,
  enableStorageForFiles,
  lockTable,
  requireColumn,
  saveTableChange,
} from './lock-table.ts';
import { addForeignKeys, indexReferences, resolveReferences } from './references.ts';
import {
  columnSpec,
  countAttributes,
  countDeclaredColumns,
  duplicatePositions,
  formatIndex,
  idColumnProblem,
  type NewColumn,
  needsRebuild,
  tableRecord,
} from './rules.ts';
import {
  type ColumnRow,
  deleteColumnRow,
  deleteIndexRows,
  insertColumnRows,
  lockTableCreation,
} from './store.ts';
import { columnDefault, parseDefaultText } from './values.ts';

export async function addColumn(
  ctx: AppMutationCtx,
  input: { table: string; column: z.output<typeof shape.body> },
) {
  const draft = parseColumn(input.column, '');
  if (isProblem(draft)) throw columnsError([draft]);
  // In the order of `resolveReferences`.
  if (refTarget(draft.type) !== null) await lockTableCreation(ctx.db, ctx.app.id);
  const row = await lockTable(ctx, input.table);
  if (row.columns.some((column) => column.name === draft.name)) {
    throw fail('unique_violation', { detail: `Column ${draft.name} already exists.` });
  }
  if (countDeclaredColumns(row.columns) >= columnsPerTableMax) {
    throw fail('limit_reached', { detail: `A table can have at most ${columnsPerTableMax} columns.` });
  }
  const [resolved = draft] = await resolveReferences(ctx, row, [draft], () => 'type');
  const column: ColumnRow = { ...resolved, number: row.columns_made + 1 };
  if (column.ref_table && row.indexes.length >= indexesPerTableMax)
    throw fail('limit_reached', { detail: `A table can have at most ${indexesPerTableMax} indexes.` });
  await enableStorageForFiles(ctx, [column]);
  await insertColumnRows(ctx.db, row, [column]);
  const isRebuilt = needsRebuild(row.attributes_made, 1);
  const saved = await saveTableChange(ctx, row, {
    columns_made: column.number,
    attributes_made: (isRebuilt ? countAttributes(row) : row.attributes_made) + 1,
  });
  auditTable(ctx, 'columns.add', row, null, { column: columnSpecText(columnSpec(column)) });
  if (isRebuilt) await rebuildTable(ctx, row);
  await alterTable(ctx, row, addColumnSql(row, column));
  await addForeignKeys(ctx, row, [column]);
  await indexReferences(ctx, row, [column]);
  return tableRecord({ ...row, ...saved, columns: [...row.columns, column] });
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
  if (column.ref_table) ctx.invalidate(tableTag(column.ref_table));
  const vectors = indexes.flatMap((index) => (index.search ? dropVectorsSql(row, index.columns) : []));
  await alterTable(ctx, row, [...vectors, ...dropColumnSql(row, column)]);
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
  if (type === 'autonumber' && nullable)
    return { field: `${prefix}nullable`, code: 'invalid', detail: 'must be false for an autonumber' };
  const role = isId ? 'id' : 'plain';
  const column: NewColumn = {
    name,
    type,
    nullable,
    default_text: null,
    role,
    checks: spec.checks ?? null,
    ...(spec.on_delete && { on_delete: spec.on_delete }),
  };
  if (spec.default === null) return column;
  const checked = parseDefaultText(type, spec.default);
  if (!checked.ok) return { field: `${prefix}default`, code: 'invalid', detail: checked.detail };
  const withDefault = { ...column, default_text: checked.value };
  const broken = defaultProblem(withDefault);
  return broken === null
    ? withDefault
    : { field: `${prefix}default`, code: 'check_violation', detail: broken };
}

export function defaultProblem(column: NewColumn): string | null {
  const value = columnDefault(column);
  if (value?.kind !== 'literal' || !column.checks) return null;
  return brokenCheck(column.type, column.checks, value.text)?.detail ?? null;
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
