import { type FamilyType } from './column-families.js';
import { type ParsedValue, parseBool, parseDate, parseFloat64, parseInt32, parseInt64, parseInts, parseJson, parseText, parseTexts, parseTimestamp, parseUuid } from './column-values.js';
import { type FilterOp } from './rows.js';
/**
 * `token`: a string that needs no escaping. `integer`: a string where a double would lose digits. `decimal`: a string, also
 * read from a number.
 */
export type JsonKind = 'string' | 'token' | 'timestamp' | 'number' | 'integer' | 'decimal' | 'boolean' | 'json' | 'strings' | 'numbers';
export interface ColumnDescriptor {
    sql: string;
    declaration?: string;
    json: JsonKind;
    ts: string;
    tsInput?: string;
    openapi: Readonly<Record<string, unknown>>;
    example: unknown;
    operators: readonly FilterOp[];
    /** The operators that a filter form offers, the most useful first. `is` stands for true and false. */
    suggestedOperators: readonly FilterOp[];
    exampleOperator: FilterOp;
    defaultFunction?: 'now()' | 'gen_random_uuid()';
    parse(text: string): ParsedValue;
    /** Of parsed values; absent where the type has no least and greatest value to check for. */
    compare?(a: string, b: string): number;
}
declare const asNumbers: (a: string, b: string) => number;
declare const asTexts: (a: string, b: string) => -1 | 0 | 1;
export declare const columnDescriptors: {
    readonly text: {
        readonly sql: 'text';
        readonly declaration: 'text collate "C"';
        readonly json: 'string';
        readonly ts: 'string';
        readonly openapi: {
            readonly type: 'string';
        };
        readonly example: 'text';
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly ["ihas", "isw", "iew", ...("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[]];
        readonly exampleOperator: 'eq';
        readonly parse: typeof parseText;
    };
    readonly int: {
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly [...("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[], "in"];
        readonly exampleOperator: 'gte';
        readonly sql: 'int4';
        readonly json: 'number';
        readonly ts: 'number';
        readonly openapi: {
            readonly type: 'integer';
            readonly format: 'int32';
            readonly minimum: number;
            readonly maximum: number;
        };
        readonly example: 42;
        readonly parse: typeof parseInt32;
        readonly compare: typeof asNumbers;
    };
    readonly bigint: {
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly [...("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[], "in"];
        readonly exampleOperator: 'gte';
        readonly sql: 'int8';
        readonly json: 'integer';
        readonly ts: 'number | string';
        readonly tsInput: 'number | string | bigint';
        readonly openapi: {
            readonly description: 'A number where every JSON parser preserves its digits, otherwise a decimal string.';
            readonly anyOf: readonly [{
                readonly type: 'integer';
                readonly format: 'int64';
                readonly minimum: number;
                readonly maximum: number;
            }, {
                readonly type: 'string';
                readonly pattern: '^-?[0-9]{1,19}$';
            }];
        };
        readonly example: '9007199254740993';
        readonly parse: typeof parseInt64;
        readonly compare: (a: string, b: string) => -1 | 0 | 1;
    };
    readonly float: {
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly [...("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[], "in"];
        readonly exampleOperator: 'gte';
        readonly sql: 'float8';
        readonly json: 'number';
        readonly ts: 'number';
        readonly openapi: {
            readonly type: 'number';
            readonly format: 'double';
        };
        readonly example: 1.5;
        readonly parse: typeof parseFloat64;
        readonly compare: typeof asNumbers;
    };
    readonly bool: {
        readonly sql: 'bool';
        readonly json: 'boolean';
        readonly ts: 'boolean';
        readonly openapi: {
            readonly type: 'boolean';
        };
        readonly example: true;
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly ["is"];
        readonly exampleOperator: 'is';
        readonly parse: typeof parseBool;
    };
    readonly timestamptz: {
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly exampleOperator: 'gte';
        readonly sql: 'timestamptz';
        readonly json: 'timestamp';
        readonly ts: 'string';
        readonly tsInput: 'string | Date';
        readonly openapi: {
            readonly type: 'string';
            readonly format: 'date-time';
        };
        readonly example: '2026-01-31T09:30:00Z';
        readonly defaultFunction: 'now()';
        readonly parse: typeof parseTimestamp;
        readonly compare: (a: string, b: string) => number;
    };
    readonly date: {
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly exampleOperator: 'gte';
        readonly sql: 'date';
        readonly json: 'token';
        readonly ts: 'string';
        readonly openapi: {
            readonly type: 'string';
            readonly format: 'date';
        };
        readonly example: '2026-01-31';
        readonly parse: typeof parseDate;
        readonly compare: typeof asTexts;
    };
    readonly uuid: {
        readonly sql: 'uuid';
        readonly json: 'token';
        readonly ts: 'string';
        readonly openapi: {
            readonly type: 'string';
            readonly format: 'uuid';
        };
        readonly example: '01890a5d-ac96-774b-bcce-b302099a8057';
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly [...("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[], "in"];
        readonly exampleOperator: 'eq';
        readonly defaultFunction: 'gen_random_uuid()';
        readonly parse: typeof parseUuid;
    };
    readonly jsonb: {
        readonly sql: 'jsonb';
        readonly json: 'json';
        readonly ts: 'Json';
        readonly openapi: {
            readonly description: 'Any JSON.';
        };
        readonly example: {
            readonly key: 'value';
        };
        readonly operators: readonly ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly ["cs", "hk"];
        readonly exampleOperator: 'cs';
        readonly parse: typeof parseJson;
    };
    readonly 'text[]': {
        readonly operators: readonly ['eq', 'neq', 'is', 'cs', 'cd', 'ov'];
        readonly suggestedOperators: readonly ['cs', 'ov', 'eq'];
        readonly exampleOperator: 'cs';
        readonly sql: 'text[]';
        readonly declaration: 'text[] collate "C"';
        readonly json: 'strings';
        readonly ts: 'string[]';
        readonly tsInput: 'readonly string[]';
        readonly openapi: {
            readonly type: 'array';
            readonly items: {
                readonly type: 'string';
            };
        };
        readonly example: readonly ["a", "b"];
        readonly parse: typeof parseTexts;
    };
    readonly 'int[]': {
        readonly operators: readonly ['eq', 'neq', 'is', 'cs', 'cd', 'ov'];
        readonly suggestedOperators: readonly ['cs', 'ov', 'eq'];
        readonly exampleOperator: 'cs';
        readonly sql: 'int4[]';
        readonly json: 'numbers';
        readonly ts: 'number[]';
        readonly tsInput: 'readonly number[]';
        readonly openapi: {
            readonly type: 'array';
            readonly items: {
                readonly type: 'integer';
                readonly format: 'int32';
            };
        };
        readonly example: readonly [1, 2];
        readonly parse: typeof parseInts;
    };
    readonly autonumber: {
        readonly operators: ("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[];
        readonly suggestedOperators: readonly [...("between" | "cd" | "cs" | "eq" | "ew" | "gt" | "gte" | "has" | "hk" | "iew" | "ihas" | "ilike" | "in" | "is" | "isw" | "like" | "lt" | "lte" | "neq" | "ov" | "sw")[], "in"];
        readonly exampleOperator: 'gte';
        readonly sql: 'int8';
        readonly declaration: 'int8 generated always as identity';
        readonly json: 'integer';
        readonly ts: 'number';
        readonly openapi: {
            readonly type: 'integer';
            readonly format: 'int64';
            readonly minimum: 1;
        };
        readonly example: 42;
        readonly parse: typeof parseInt64;
    };
};
export type PlainType = keyof typeof columnDescriptors;
export type ColumnType = PlainType | FamilyType;
/** The types without arguments. */
export declare const columnTypes: [PlainType, ...PlainType[]];
/** With an example of each type that has arguments. */
export declare const columnTypeForms: readonly string[];
export declare function describeColumnType(type: ColumnType): ColumnDescriptor;
/** A reference has the values of the ids that it refers to. */
export declare const valueType: ({ type, value_type }: {
    type: ColumnType;
    value_type?: ColumnType | undefined;
}) => ColumnType;
export declare const isPlainType: (text: string) => text is PlainType;
export declare const isArrayType: (type: ColumnType) => type is "int[]" | "text[]";
export declare const namePattern: RegExp;
/** Parameters of a row query: a column with such a name could not be filtered. */
export declare const reservedNames: readonly string[];
export declare const writeParameters: readonly string[];
export declare const idTypes: readonly ["uuid", "bigint", "int", "text"];
export declare const ownerColumnTypes: readonly ["text", "uuid"];
export declare const tableDescriptionBytesMax = 1000;
export declare const tablesPerAppMax = 200;
export declare const columnsPerTableMax = 1000;
export declare const indexesPerTableMax = 32;
export declare const columnsPerIndexMax = 8;
export declare const grantsPerTableMax = 200;
export declare const columnDefaultBytesMax: number;
export declare function isColumnName(name: string): boolean;
export {};
