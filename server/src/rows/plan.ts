import type { ColumnType } from '@svc/contract/columns.ts';
import { perPageDefault } from '@svc/contract/limits.ts';
import { type FilterOp, filterOps, type IsKeyword } from '@svc/contract/rows.ts';
import { fail } from '../plumbing/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { fromUrl } from '../tables/values.ts';
import type { Condition, ParsedQuery, SelectItem, SortKey, Test } from './query-syntax.ts';
import { columnNamed, type Output, outputOf, type RowTable } from './row-table.ts';

/** A query against one table, with every name resolved and every value checked: what is refused is refused by now. */
export interface ListPlan {
  table: RowTable;
  output: Output;
  where: readonly PlannedCondition[];
  sort: readonly PlannedSort[];
  /** Where the page before ended, key by key; null for the beginning. */
  after: readonly AfterKey[] | null;
  page: number;
  perPage: number;
}

/** A key of the row that the page before ended with: its value, or, where that is too long to travel, the row's id. */
export type AfterKey = string | null | { ofRow: string };

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

/** Rows that the caller owns, where they may see no others. */
export function ownRows(table: RowTable, ownRowsOf: string | null): PlannedCondition[] {
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

/** Used for lists, counts and exports alike, so that nothing hidden shows through one of them. */
export function planWhere(
  table: RowTable,
  ownRowsOf: string | null,
  where: readonly Condition[],
): PlannedCondition[] {
  return [...ownRows(table, ownRowsOf), ...where.map((condition) => planCondition(table, condition))];
}

export function planSelect(table: RowTable, select: readonly SelectItem[] | null): Output {
  if (select === null) return table.all;
  return outputOf(select.map(({ column, alias }) => ({ column: columnNamed(table, column), key: alias })));
}

/** The id is always the last key, so that no two rows are equal; in the direction of the key before it, so that one index serves both. */
function planSort(table: RowTable, keys: readonly SortKey[]): PlannedSort[] {
  const sort = keys.map(({ column, descending }) => ({ column: columnNamed(table, column), descending }));
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
  const column = columnNamed(table, test.column);
  const { negated } = test;
  if (!fits(test.op, column.type, test.op === 'is' ? test.operand : null)) {
    throw misfit(column, `\`${test.op}\` does not apply to a column of type ${column.type}`);
  }
  const base = { kind: 'test', negated, column } as const;
  switch (test.op) {
    case 'is':
      return { ...base, op: 'is', keyword: test.operand };
    case 'in':
      return { ...base, op: 'in', values: test.operand.map((item) => checked(column, item)) };
    case 'between':
      return {
        ...base,
        op: 'between',
        from: checked(column, test.operand[0]),
        to: checked(column, test.operand[1]),
      };
    case 'hk':
      return { ...base, op: 'hk', value: checkedAs(column, 'text', test.operand) };
    default:
      return { ...base, op: test.op, value: checked(column, test.operand) };
  }
}

const textOps: ReadonlySet<FilterOp> = new Set(['like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas']);
const jsonOps: ReadonlySet<FilterOp> = new Set(['cs', 'cd', 'hk']);

/** The operators that a column of the type can be filtered by. */
export function opsFor(type: ColumnType): FilterOp[] {
  return filterOps.filter((op) => fits(op, type, null));
}

function fits(op: FilterOp, type: ColumnType, keyword: IsKeyword | null): boolean {
  if (textOps.has(op)) return type === 'text';
  if (jsonOps.has(op)) return type === 'jsonb';
  if (keyword === 'true' || keyword === 'false') return type === 'bool';
  return true;
}

function checked(column: CatalogueColumn, text: string): string {
  return checkedAs(column, column.type, text);
}

function checkedAs(column: CatalogueColumn, type: ColumnType, text: string): string {
  const result = fromUrl(type, text);
  if (result.ok) return result.value;
  throw misfit(column, result.detail);
}

function misfit(column: CatalogueColumn, detail: string) {
  return fail('validation_failed', {
    detail: `${column.name}: ${detail}`,
    errors: [{ column: column.name, code: 'invalid_value', detail }],
  });
}
