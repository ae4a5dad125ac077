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
type Value<T, Op extends Operator> = Op extends 'in' ? readonly Operand<T>[] : Op extends 'between' ? readonly [Operand<T>, Operand<T>] : Op extends 'is' ? IsOperand : Op extends 'cs' | 'cd' | 'ov' ? Json : Op extends 'like' | 'ilike' | 'sw' | 'ew' | 'has' | 'isw' | 'iew' | 'ihas' | 'hk' ? string : Operand<T>;
type Test<Row> = {
    [C in keyof Row & string]: {
        [Op in Operator]: readonly [column: C, op: Op | `not.${Op}`, value: Value<Row[C], Op>];
    }[Operator];
}[keyof Row & string];
export type Condition<Row> = Test<Row> | {
    readonly and: readonly Condition<Row>[];
} | {
    readonly or: readonly Condition<Row>[];
} | {
    readonly not: Condition<Row>;
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
