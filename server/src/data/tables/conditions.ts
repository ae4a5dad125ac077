import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import { type Condition, type Test, toSqlPattern } from '@svc/contract/filter.ts';
import type { FilterOp, IsKeyword } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { CatalogueColumn } from './catalogue.ts';
import { parseUrlText } from './values.ts';

/** A condition with columns of the catalogue and values that fit their types. */
export type PlannedCondition = PlannedGroup | PlannedTest;

export interface PlannedGroup {
  kind: 'and' | 'or';
  negated: boolean;
  parts: readonly PlannedCondition[];
}

export type PlannedTest = { kind: 'test'; negated: boolean; column: CatalogueColumn } & PlannedComparison;

export type OrderOp = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte';

export type PlannedComparison =
  | { op: Exclude<FilterOp, 'in' | 'is' | 'between'>; value: string }
  | { op: 'in'; values: readonly string[] }
  | { op: 'between'; from: string; to: string }
  | { op: 'is'; keyword: IsKeyword }
  | { op: 'same'; as: OrderOp; row: 'old' | 'new'; other: CatalogueColumn }
  /** Of a list: whether there are related rows. */
  | { op: 'related'; sql(values: (string | null)[]): string };

export const always: PlannedGroup = { kind: 'and', negated: false, parts: [] };
export const never: PlannedGroup = { kind: 'or', negated: false, parts: [] };

export const isAlways = (condition: PlannedCondition) => isEmpty(condition, 'and');
export const isNever = (condition: PlannedCondition) => isEmpty(condition, 'or');

function isEmpty(condition: PlannedCondition, kind: PlannedGroup['kind']): boolean {
  return condition.kind === kind && !condition.negated && condition.parts.length === 0;
}

export function anyOf(parts: readonly PlannedCondition[]): PlannedCondition {
  if (parts.some(isAlways)) return always;
  return joined(
    'or',
    parts.filter((part) => !isNever(part)),
  );
}

export function allOf(parts: readonly PlannedCondition[]): PlannedCondition {
  if (parts.some(isNever)) return never;
  return joined(
    'and',
    parts.filter((part) => !isAlways(part)),
  );
}

function joined(kind: PlannedGroup['kind'], parts: readonly PlannedCondition[]): PlannedCondition {
  const [only] = parts;
  return parts.length === 1 && only ? only : { kind, negated: false, parts };
}

export type EqualityTest = PlannedTest & { op: 'eq'; value: string };

export function equals(column: CatalogueColumn, value: string): EqualityTest {
  return { kind: 'test', negated: false, column, op: 'eq', value };
}

export function isOneOf(column: CatalogueColumn, values: readonly string[]): PlannedTest {
  return { kind: 'test', negated: false, column, op: 'in', values };
}

export type FindColumn = (name: string) => CatalogueColumn;

interface PlanOptions {
  /** Whether `@old.<column>` and `@new.<column>` stand for values of the changed row. */
  rowRefs?: boolean;
  inGroup?: boolean;
}

export function planCondition(
  find: FindColumn,
  condition: Condition,
  options: PlanOptions = {},
): PlannedCondition {
  if (condition.kind === 'test') return planTest(find, condition, options);
  const parts = condition.parts.map((part) => planCondition(find, part, { ...options, inGroup: true }));
  return { kind: condition.kind, negated: condition.negated, parts };
}

const rowRefPattern = /^@(old|new)\.(.+)$/s;
const orderOps: readonly string[] = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] satisfies OrderOp[];
const isOrderOp = (op: FilterOp): op is OrderOp => orderOps.includes(op);

function planTest(
  find: FindColumn,
  test: Test,
  { rowRefs = false, inGroup = false }: PlanOptions,
): PlannedTest {
  const column = find(test.column);
  const { negated } = test;
  // `host=ov.example.com` is a literal: the operator is for lists only.
  if (test.op === 'ov' && !inGroup && !isArrayType(column.type))
    return equals(column, parseOperand(column, `${negated ? 'not.' : ''}ov.${test.operand}`));
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
    default: {
      const [, row, name] = (rowRefs && rowRefPattern.exec(test.operand)) || [];
      if (name === undefined || !isOrderOp(test.op))
        return { ...base, op: test.op, value: parseOperand(column, test.operand) };
      const other = find(name);
      if (other.type !== column.type) throw conditionError(column, `has another type than ${other.name}`);
      return { ...base, op: 'same', as: test.op, row: row === 'old' ? 'old' : 'new', other };
    }
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
