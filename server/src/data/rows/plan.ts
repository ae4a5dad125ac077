import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { type Condition, type Test, toSqlPattern } from '@svc/contract/filter.ts';
import { perPageDefault } from '@svc/contract/limits.ts';
import type { FilterOp, IsKeyword } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { parseUrlText } from '../tables/values.ts';
import type { ParsedQuery, SelectItem, SortKey } from './parse-query.ts';
import { createOutput, type Output, type RowTable, requireColumn } from './row-table.ts';

export interface ListPlan {
  table: RowTable;
  output: Output;
  where: readonly PlannedCondition[];
  sort: readonly PlannedSort[];
  after: readonly AfterKey[] | null;
  page: number;
  perPage: number;
}

/** The value of a sort key, or the id of the row to read a long value from. */
export type AfterKey = string | null | { rowId: string };

export type PlannedCondition = PlannedGroup | PlannedTest;

export interface PlannedGroup {
  kind: 'and' | 'or';
  negated: boolean;
  parts: readonly PlannedCondition[];
}

export type PlannedTest = { kind: 'test'; negated: boolean; column: CatalogueColumn } & PlannedComparison;

export type PlannedComparison =
  | { op: Exclude<FilterOp, 'in' | 'is' | 'between'>; value: string }
  | { op: 'in'; values: readonly string[] }
  | { op: 'between'; from: string; to: string }
  | { op: 'is'; keyword: IsKeyword };

export interface PlannedSort {
  column: CatalogueColumn;
  descending: boolean;
}

export function whereOwnRows(table: RowTable, ownRowsOf: string | null): PlannedCondition[] {
  const { owner } = table.catalogue;
  if (ownRowsOf === null || owner === null) return [];
  return [{ kind: 'test', negated: false, column: owner, op: 'eq', value: ownRowsOf }];
}

export function planList(
  table: RowTable,
  ownRowsOf: string | null,
  query: ParsedQuery,
  readCursor: (token: string, sort: readonly PlannedSort[]) => readonly AfterKey[],
): ListPlan {
  const sort = planSort(table, query.sort);
  return {
    table,
    output: planSelect(table, query.select),
    where: planWhere(table, ownRowsOf, query.where),
    sort,
    after: query.cursor === null ? null : readCursor(query.cursor, sort),
    page: query.page ?? 1,
    perPage: query.perPage ?? perPageDefault,
  };
}

/** Lists, counts and exports all use this, so that none of them shows hidden rows. */
export function planWhere(
  table: RowTable,
  ownRowsOf: string | null,
  where: readonly Condition[],
): PlannedCondition[] {
  return [...whereOwnRows(table, ownRowsOf), ...where.map((condition) => planCondition(table, condition))];
}

export function planSelect(table: RowTable, select: readonly SelectItem[] | null): Output {
  if (select === null) return table.all;
  return createOutput(
    select.map(({ column, alias }) => ({ column: requireColumn(table, column), key: alias })),
  );
}

/** Appends the id, so that the order is total; in the direction of the key before it, so that one index serves both. */
function planSort(table: RowTable, keys: readonly SortKey[]): PlannedSort[] {
  const sort = keys.map(({ column, descending }) => ({ column: requireColumn(table, column), descending }));
  const { idColumn } = table.catalogue;
  if (sort.some(({ column }) => column === idColumn)) return sort;
  return [...sort, { column: idColumn, descending: sort.at(-1)?.descending ?? false }];
}

function planCondition(table: RowTable, condition: Condition): PlannedCondition {
  if (condition.kind === 'test') return planTest(table, condition);
  const parts = condition.parts.map((part) => planCondition(table, part));
  return { kind: condition.kind, negated: condition.negated, parts };
}

function planTest(table: RowTable, test: Test): PlannedTest {
  const column = requireColumn(table, test.column);
  const { negated } = test;
  if (!isApplicable(test.op, column.type, test.op === 'is' ? test.operand : null)) {
    throw conditionError(column, `\`${test.op}\` does not apply to a column of type ${column.type}`);
  }
  const base = { kind: 'test', negated, column } as const;
  switch (test.op) {
    case 'is':
      return { ...base, op: 'is', keyword: test.operand };
    case 'in':
      return { ...base, op: 'in', values: test.operand.map((item) => parseOperand(column, item)) };
    case 'between':
      return {
        ...base,
        op: 'between',
        from: parseOperand(column, test.operand[0]),
        to: parseOperand(column, test.operand[1]),
      };
    case 'hk':
      return { ...base, op: 'hk', value: parseOperandAs(column, 'text', test.operand) };
    case 'like':
    case 'ilike':
      return { ...base, op: test.op, value: parseOperand(column, toSqlPattern(test.operand)) };
    default:
      return { ...base, op: test.op, value: parseOperand(column, test.operand) };
  }
}

function isApplicable(op: FilterOp, type: ColumnType, keyword: IsKeyword | null): boolean {
  const { operators, json } = describeColumnType(type);
  if (keyword === 'true' || keyword === 'false') return json === 'boolean';
  return operators.includes(op);
}

function parseOperand(column: CatalogueColumn, text: string): string {
  return parseOperandAs(column, column.type, text);
}

function parseOperandAs(column: CatalogueColumn, type: ColumnType, text: string): string {
  const result = parseUrlText(type, text);
  if (result.ok) return result.value;
  throw conditionError(column, result.detail);
}

function conditionError(column: CatalogueColumn, detail: string) {
  return fail('validation_failed', {
    detail: `${column.name}: ${detail}`,
    errors: [{ column: column.name, code: 'invalid_value', detail }],
  });
}
