import type { FilterOp } from './contract/rows.js';
import { type Scalar } from './encode.js';
export type Json = null | boolean | number | string | readonly Json[] | {
    readonly [key: string]: Json | undefined;
};
/**
 * Names of the row API: `sw`, `ew`, `has` mean starts with, ends with, contains; `isw`, `iew`, `ihas` ignore case; `ov` means
 * that lists have an item in common.
 */
export type Operator = FilterOp;
export type Operand<T> = unknown extends T ? Scalar : Extract<NonNullable<T>, string | number | boolean> | (number extends NonNullable<T> ? bigint : never) | (string extends NonNullable<T> ? Date : never);
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
export type Value<T, Op extends Operator> = Op extends 'in' ? readonly Operand<T>[] : Op extends 'between' ? readonly [Operand<T>, Operand<T>] : Op extends 'is' ? IsOperand : Op extends OperatorGroups['json'] ? Json : Op extends OperatorGroups['text'] ? string : Operand<T>;
type Test<Row> = {
    [C in keyof Row & string]: {
        [Group in keyof OperatorGroups]: readonly [
            column: C,
            op: OperatorGroups[Group] | `not.${OperatorGroups[Group]}`,
            value: Value<Row[C], OperatorGroups[Group]>
        ];
    }[keyof OperatorGroups];
}[keyof Row & string];
/** Of `Relations`, names of relations, it can be asked whether there are such rows. */
export type Condition<Row, Relations extends string = never> = Test<Row> | readonly [relation: Relations, op: 'is' | 'not.is', value: null | 'not_null'] | {
    readonly and: readonly Condition<Row, Relations>[];
} | {
    readonly or: readonly Condition<Row, Relations>[];
} | {
    readonly not: Condition<Row, Relations>;
};
export type AnyCondition = readonly [column: string, op: string, value: unknown] | {
    readonly and: readonly AnyCondition[];
} | {
    readonly or: readonly AnyCondition[];
} | {
    readonly not: AnyCondition;
};
export declare function toParameter(condition: AnyCondition): [name: string, value: string];
export declare function inGroup(condition: AnyCondition): string;
export {};
