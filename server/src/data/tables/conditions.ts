import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import { type Condition, type Test, toSqlPattern } from '@svc/contract/filter.ts';
import { isCallerList } from '@svc/contract/placeholders.ts';
import type { FilterOp, IsKeyword } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { CatalogueColumn } from './catalogue.ts';
import { parseUrlText, type ValueColumn } from './values.ts';

export type PlannedCondition = PlannedGroup | PlannedTest;

interface PlannedGroup {
  kind: 'and' | 'or';
  negated: boolean;
  parts: readonly PlannedCondition[];
}

export type PlannedTest = { kind: 'test'; negated: boolean; column: CatalogueColumn } & PlannedComparison;

type OrderOp = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte';

type PlannedComparison =
  | { op: Exclude<FilterOp, 'in' | 'is' | 'between'>; value: string }
  | { op: 'in'; values: readonly string[] }
  | { op: 'between'; from: string; to: string }
  | { op: 'is'; keyword: IsKeyword }
  | { op: 'same'; as: OrderOp; row: 'old' | 'new'; other: CatalogueColumn }
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
  return groupConditions(
    'or',
    parts.filter((part) => !isNever(part)),
  );
}

export function allOf(parts: readonly PlannedCondition[]): PlannedCondition {
  if (parts.some(isNever)) return never;
  return groupConditions(
    'and',
    parts.filter((part) => !isAlways(part)),
  );
}

function groupConditions(kind: PlannedGroup['kind'], parts: readonly PlannedCondition[]): PlannedCondition {
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
      return { ...base, op: 'hk', value: parseOperandAs(column, { type: 'text' }, test.operand) };
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
  return parseOperandAs(column, column, text);
}

function parseOperandAs(column: CatalogueColumn, as: ValueColumn, text: string): string {
  const result = parseUrlText(as, text);
  if (result.ok) return result.value;
  throw conditionError(column, result.detail);
}

function conditionError(column: CatalogueColumn, detail: string) {
  return fail('validation_failed', {
    detail: `${column.name}: ${detail}`,
    errors: [{ column: column.name, code: 'invalid_value', detail }],
  });
}

export interface Me {
  id: string;
  email: string;
  roles: readonly string[] | null;
  groups: readonly { id: string; name: string }[];
  attributes: Readonly<Record<string, string>>;
}

const prefix = '@me.';

type IsUuidColumn = (column: string) => boolean;

/** Null if a value is missing: the whole filter is then false, negated or not. */
export function withCallerValues(
  conditions: readonly Condition[],
  me: Me,
  isUuidColumn: IsUuidColumn,
): Condition[] | null {
  const resolved = conditions.map((condition) => resolveCondition(condition, me, isUuidColumn));
  return resolved.every((condition) => condition !== null) ? resolved : null;
}

/** To check a filter while the values of the caller are not known: of these tests only the columns. */
export function withoutCallerValues(condition: Condition): Condition {
  if (condition.kind !== 'test') return { ...condition, parts: condition.parts.map(withoutCallerValues) };
  if (![condition.operand].flat().some((operand) => operand.startsWith(prefix))) return condition;
  return { kind: 'test', column: condition.column, negated: false, op: 'is', operand: 'not_null' };
}

export function missingAttributes(conditions: readonly Condition[], me: Me): string[] {
  const operands = conditions.flatMap(operandsOf).filter((operand) => valuesOf(operand, me) === null);
  return [...new Set(operands.map((operand) => operand.slice(prefix.length)))];
}

/** The lists without an entry that a value must be in; where it must not be in the list, an empty one excludes no row. */
export function emptyLists(conditions: readonly Condition[], me: Me): ('roles' | 'groups')[] {
  const operands = conditions.flatMap((condition) => includingOperands(condition, false));
  return (['roles', 'groups'] as const).filter(
    (name) => me[name]?.length === 0 && operands.includes(`${prefix}${name}`),
  );
}

function includingOperands(condition: Condition, isInverted: boolean): string[] {
  const isNegated = condition.negated !== isInverted;
  if (condition.kind !== 'test') return condition.parts.flatMap((part) => includingOperands(part, isNegated));
  return isNegated === (condition.op === 'neq') ? [condition.operand].flat() : [];
}

export const namesCaller = (conditions: readonly Condition[]): boolean =>
  conditions.flatMap(operandsOf).some((operand) => operand.startsWith(prefix));

const operandsOf = (condition: Condition): string[] =>
  condition.kind === 'test' ? [condition.operand].flat() : condition.parts.flatMap(operandsOf);

function resolveCondition(condition: Condition, me: Me, isUuidColumn: IsUuidColumn): Condition | null {
  if (condition.kind === 'test') return resolveTest(condition, me, isUuidColumn(condition.column));
  const parts = withCallerValues(condition.parts, me, isUuidColumn);
  return parts && { ...condition, parts };
}

function resolveTest(test: Test, me: Me, isUuid: boolean): Test | null {
  if (test.op === 'is') return test;
  const valuesFor = (operand: string) => valuesOf(operand, me, isUuid);
  if (test.op === 'in') {
    const items = test.operand.map((item) => valuesFor(item));
    return items.includes(null) ? null : { ...test, operand: items.flatMap((values) => values ?? []) };
  }
  if (test.op === 'between') {
    const [from, to] = test.operand.map((item) => single(valuesFor(item)));
    return from === undefined || to === undefined ? null : { ...test, operand: [from, to] };
  }
  const values = valuesFor(test.operand);
  if (values === null) return null;
  if (!isCallerList(test.operand)) return { ...test, operand: values[0] ?? '' };
  const { column, negated } = test;
  // Equal to a list means equal to one of its values.
  if (test.op === 'eq') return { kind: 'test', column, negated, op: 'in', operand: values };
  if (test.op === 'neq') return { kind: 'test', column, negated: !negated, op: 'in', operand: values };
  if (test.op === 'ov') return { ...test, operand: JSON.stringify(values) };
  return null;
}

const single = (values: string[] | null) => (values?.length === 1 ? values[0] : undefined);

function valuesOf(operand: string, me: Me, isUuid = false): string[] | null {
  if (!operand.startsWith(prefix)) return [operand];
  const name = operand.slice(prefix.length);
  if (name === 'id' || name === 'email') return [me[name]];
  if (name === 'roles') return me.roles && [...me.roles];
  // A name is no value for a column of ids.
  if (name === 'groups') return me.groups.flatMap(({ id, name }) => (isUuid ? [id] : [id, name]));
  const value = Object.hasOwn(me.attributes, name) ? me.attributes[name] : undefined;
  return value === undefined ? null : [value];
}
