import type { FilterOp } from '@svc/contract/rows.ts';
import { type Scalar, toItem, toJson, toText } from './encode.ts';

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/**
 * Names of the row API: `sw`, `ew`, `has` mean starts with, ends with, contains; `isw`, `iew`, `ihas` ignore case; `ov` means
 * that lists have an item in common.
 */
export type Operator = FilterOp;

export type Operand<T> = unknown extends T
  ? Scalar
  :
      | Extract<NonNullable<T>, string | number | boolean>
      | (number extends NonNullable<T> ? bigint : never)
      | (string extends NonNullable<T> ? Date : never);

export type IsOperand = null | 'not_null' | boolean;

/** Operators whose values have the same type. */
interface OperatorGroups {
  in: 'in';
  between: 'between';
  is: 'is';
  json: 'cs' | 'cd' | 'ov';
  text: 'like' | 'ilike' | 'sw' | 'ew' | 'has' | 'isw' | 'iew' | 'ihas' | 'hk';
  order: 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte';
}

export type Value<T, Op extends Operator> = Op extends 'in'
  ? readonly Operand<T>[]
  : Op extends 'between'
    ? readonly [Operand<T>, Operand<T>]
    : Op extends 'is'
      ? IsOperand
      : Op extends OperatorGroups['json']
        ? Json
        : Op extends OperatorGroups['text']
          ? string
          : Operand<T>;

type Test<Row> = {
  [C in keyof Row & string]: {
    [Group in keyof OperatorGroups]: readonly [
      column: C,
      op: OperatorGroups[Group] | `not.${OperatorGroups[Group]}`,
      value: Value<Row[C], OperatorGroups[Group]>,
    ];
  }[keyof OperatorGroups];
}[keyof Row & string];

/** Of `Relations`, names of relations, it can be asked whether there are such rows. */
export type Condition<Row, Relations extends string = never> =
  | Test<Row>
  | readonly [relation: Relations, op: 'is' | 'not.is', value: null | 'not_null']
  | { readonly and: readonly Condition<Row, Relations>[] }
  | { readonly or: readonly Condition<Row, Relations>[] }
  | { readonly not: Condition<Row, Relations> };

export type AnyCondition =
  | readonly [column: string, op: string, value: unknown]
  | { readonly and: readonly AnyCondition[] }
  | { readonly or: readonly AnyCondition[] }
  | { readonly not: AnyCondition };

export function toParameter(condition: AnyCondition): [name: string, value: string] {
  if (isTest(condition)) {
    const [column, op, value] = condition;
    return [column, `${op}.${operandText(op, value, (text) => text)}`];
  }
  const [name, list] = groupOf(condition);
  return [name, list];
}

export function inGroup(condition: AnyCondition): string {
  if (isTest(condition)) {
    const [column, op, value] = condition;
    return `${column}.${op}.${operandText(op, value, toItem)}`;
  }
  return groupOf(condition).join('');
}

/** An empty group is ambiguous: it could match every row or none. */
function groupOf(condition: Exclude<AnyCondition, readonly unknown[]>): [name: string, list: string] {
  if ('not' in condition) {
    const inner = condition.not;
    if (isTest(inner) || 'not' in inner) return ['not', `(${inGroup(inner)})`];
    const [name, list] = groupOf(inner);
    return [`not.${name}`, list];
  }
  const [name, parts] =
    'or' in condition ? (['or', condition.or] as const) : (['and', condition.and] as const);
  if (parts.length === 0) throw new TypeError(`.${name}([]) has no condition.`);
  return [name, `(${parts.map(inGroup).join(',')})`];
}

function operandText(op: string, value: unknown, write: (text: string) => string): string {
  switch (op.replace(/^not\./, '')) {
    case 'in':
    case 'between':
      if (!Array.isArray(value)) throw new TypeError(`${op} takes a list.`);
      return `(${value.map((item) => toItem(toText(item))).join(',')})`;
    case 'is':
      return String(value);
    case 'cs':
    case 'cd':
    case 'ov':
      return write(toJson(value));
    default:
      return write(toText(value));
  }
}

function isTest(condition: AnyCondition): condition is readonly [string, string, unknown] {
  return Array.isArray(condition);
}
