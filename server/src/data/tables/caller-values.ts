import type { Condition, Test } from '@svc/contract/filter.ts';

/** What `@me.…` stands for in rules and policies. */
export interface Me {
  id: string;
  email: string;
  roles: readonly string[];
  groups: readonly { id: string; name: string }[];
  attributes: Readonly<Record<string, string>>;
}

const prefix = '@me.';

/** Whether a column holds ids. */
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
  const operands = [condition.operand].flat();
  if (!operands.some((operand) => operand.startsWith(prefix))) return condition;
  return { kind: 'test', column: condition.column, negated: false, op: 'is', operand: 'not_null' };
}

/** The attributes that the conditions compare with and that the caller does not have. */
export function missingAttributes(conditions: readonly Condition[], me: Me): string[] {
  const operands = conditions.flatMap(operandsOf).filter((operand) => valuesOf(operand, me) === null);
  return [...new Set(operands.map((operand) => operand.slice(prefix.length)))];
}

/** The lists that the conditions compare with and that have no entry. */
export function emptyLists(conditions: readonly Condition[], me: Me): ('roles' | 'groups')[] {
  const operands = conditions.flatMap(operandsOf);
  return (['roles', 'groups'] as const).filter(
    (name) => me[name].length === 0 && operands.includes(`${prefix}${name}`),
  );
}

/** Whether the conditions are others for other callers. */
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
  if (!isList(test.operand)) return { ...test, operand: values[0] ?? '' };
  const { column, negated } = test;
  // Equal to a list means equal to one of its values.
  if (test.op === 'eq') return { kind: 'test', column, negated, op: 'in', operand: values };
  if (test.op === 'neq') return { kind: 'test', column, negated: !negated, op: 'in', operand: values };
  return null;
}

const isList = (operand: string) => operand === '@me.roles' || operand === '@me.groups';
const single = (values: string[] | null) => (values?.length === 1 ? values[0] : undefined);

function valuesOf(operand: string, me: Me, isUuid = false): string[] | null {
  if (!operand.startsWith(prefix)) return [operand];
  const name = operand.slice(prefix.length);
  if (name === 'id' || name === 'email') return [me[name]];
  if (name === 'roles') return [...me.roles];
  // A name is no value for a column of ids.
  if (name === 'groups') return me.groups.flatMap(({ id, name }) => (isUuid ? [id] : [id, name]));
  const value = Object.hasOwn(me.attributes, name) ? me.attributes[name] : undefined;
  return value === undefined ? null : [value];
}
