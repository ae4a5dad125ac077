import { columnFamilies, type FamilyType, familyDescriptor } from './column-families.ts';
import {
  type ParsedValue,
  parseBool,
  parseDate,
  parseFloat64,
  parseInt32,
  parseInt64,
  parseInts,
  parseJson,
  parseText,
  parseTexts,
  parseTimestamp,
  parseUuid,
  plainSources,
  timestampMicros,
} from './column-values.ts';
import { type FilterOp, filterOps } from './rows.ts';
import { words } from './words.ts';

/**
 * `token`: a string that needs no escaping. `integer`: a string where a double would lose digits. `decimal`: a string, also
 * read from a number.
 */
export type JsonKind =
  | 'string'
  | 'token'
  | 'timestamp'
  | 'number'
  | 'integer'
  | 'decimal'
  | 'boolean'
  | 'json'
  | 'strings'
  | 'numbers';

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
  /** Matches the JSON source of values that `parse` returns as they are written; not of all of them. */
  plainSource?: RegExp;
  /** Compares parsed values; absent if the type has no check of minimum and maximum. */
  compare?(a: string, b: string): number;
}

const textOperators: readonly FilterOp[] = ['like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas'];
const jsonOperators: readonly FilterOp[] = ['cs', 'cd', 'hk'];
const containerOperators: readonly FilterOp[] = [...jsonOperators, 'ov'];
const commonOperators = filterOps.filter(
  (op) => !textOperators.includes(op) && !containerOperators.includes(op),
);
const order: readonly FilterOp[] = ['gt', 'gte', 'lt', 'lte', 'between'];
const equality: readonly FilterOp[] = ['eq', 'neq'];
const number = {
  operators: commonOperators,
  suggestedOperators: [...equality, ...order, 'in'],
  exampleOperator: 'gte',
} as const;

const asNumbers = (a: string, b: string) => Number(a) - Number(b);
const asTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const list = {
  operators: ['eq', 'neq', 'is', 'cs', 'cd', 'ov'],
  suggestedOperators: ['cs', 'ov', 'eq'],
  exampleOperator: 'cs',
} as const;

const time = {
  operators: commonOperators,
  suggestedOperators: [...order, ...equality],
  exampleOperator: 'gte',
} as const;

export const columnDescriptors = {
  text: {
    sql: 'text',
    // Byte order, so that sorting and ranges are the same on every machine.
    declaration: 'text collate "C"',
    json: 'string',
    ts: 'string',
    openapi: { type: 'string' },
    example: 'text',
    operators: filterOps.filter((op) => !containerOperators.includes(op)),
    suggestedOperators: ['ihas', 'isw', 'iew', ...equality, 'in', ...order],
    exampleOperator: 'eq',
    parse: parseText,
    plainSource: plainSources.text,
  },
  int: {
    ...number,
    sql: 'int4',
    json: 'number',
    ts: 'number',
    openapi: { type: 'integer', format: 'int32', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
    example: 42,
    parse: parseInt32,
    plainSource: plainSources.int32,
    compare: asNumbers,
  },
  bigint: {
    ...number,
    sql: 'int8',
    json: 'integer',
    ts: 'number | string',
    tsInput: 'number | string | bigint',
    openapi: {
      description: 'A number where every JSON parser preserves its digits, otherwise a decimal string.',
      anyOf: [
        {
          type: 'integer',
          format: 'int64',
          minimum: Number.MIN_SAFE_INTEGER,
          maximum: Number.MAX_SAFE_INTEGER,
        },
        { type: 'string', pattern: '^-?[0-9]{1,19}$' },
      ],
    },
    example: '9007199254740993',
    parse: parseInt64,
    plainSource: plainSources.int64,
    compare: (a, b) => (BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0),
  },
  float: {
    ...number,
    sql: 'float8',
    json: 'number',
    ts: 'number',
    openapi: { type: 'number', format: 'double' },
    example: 1.5,
    parse: parseFloat64,
    plainSource: plainSources.float64,
    compare: asNumbers,
  },
  bool: {
    sql: 'bool',
    json: 'boolean',
    ts: 'boolean',
    openapi: { type: 'boolean' },
    example: true,
    operators: commonOperators,
    suggestedOperators: ['is'],
    exampleOperator: 'is',
    parse: parseBool,
    plainSource: plainSources.bool,
  },
  timestamptz: {
    ...time,
    sql: 'timestamptz',
    json: 'timestamp',
    ts: 'string',
    tsInput: 'string | Date',
    openapi: { type: 'string', format: 'date-time' },
    example: '2026-01-31T09:30:00Z',
    defaultFunction: 'now()',
    parse: parseTimestamp,
    plainSource: plainSources.timestamp,
    compare: (a, b) => Number(timestampMicros(a) - timestampMicros(b)),
  },
  date: {
    ...time,
    sql: 'date',
    json: 'token',
    ts: 'string',
    openapi: { type: 'string', format: 'date' },
    example: '2026-01-31',
    parse: parseDate,
    compare: asTexts,
  },
  uuid: {
    sql: 'uuid',
    json: 'token',
    ts: 'string',
    openapi: { type: 'string', format: 'uuid' },
    example: '01890a5d-ac96-774b-bcce-b302099a8057',
    operators: commonOperators,
    suggestedOperators: [...equality, 'in'],
    exampleOperator: 'eq',
    defaultFunction: 'gen_random_uuid()',
    parse: parseUuid,
    plainSource: plainSources.uuid,
  },
  jsonb: {
    sql: 'jsonb',
    json: 'json',
    ts: 'Json',
    openapi: { description: 'Any JSON.' },
    example: { key: 'value' },
    operators: [...commonOperators, ...jsonOperators],
    suggestedOperators: ['cs', 'hk'],
    exampleOperator: 'cs',
    parse: parseJson,
  },
  'text[]': {
    ...list,
    sql: 'text[]',
    declaration: 'text[] collate "C"',
    json: 'strings',
    ts: 'string[]',
    tsInput: 'readonly string[]',
    openapi: { type: 'array', items: { type: 'string' } },
    example: ['a', 'b'],
    parse: parseTexts,
  },
  'int[]': {
    ...list,
    sql: 'int4[]',
    json: 'numbers',
    ts: 'number[]',
    tsInput: 'readonly number[]',
    openapi: { type: 'array', items: { type: 'integer', format: 'int32' } },
    example: [1, 2],
    parse: parseInts,
  },
  autonumber: {
    ...number,
    sql: 'int8',
    // A number that is written by hand could be assigned again.
    declaration: 'int8 generated always as identity',
    json: 'integer',
    ts: 'number',
    openapi: { type: 'integer', format: 'int64', minimum: 1 },
    example: 42,
    parse: parseInt64,
  },
} as const satisfies Record<string, ColumnDescriptor>;

export type PlainType = keyof typeof columnDescriptors;
export type ColumnType = PlainType | FamilyType;
/** The types without arguments. */
export const columnTypes = Object.keys(columnDescriptors) as [PlainType, ...PlainType[]];
/** Types with arguments appear as an example. */
export const columnTypeForms: readonly string[] = [
  ...columnTypes,
  ...Object.values(columnFamilies),
  'ref:<table>',
];

export function describeColumnType(type: ColumnType): ColumnDescriptor {
  const plain: ColumnDescriptor | undefined = columnDescriptors[type as PlainType];
  return plain ?? describeFamilyType(type);
}

/** A reference has the values of the ids that it refers to. */
export const valueType = ({ type, value_type }: { type: ColumnType; value_type?: ColumnType | undefined }) =>
  value_type ?? type;

const familyDescriptors = new Map<string, ColumnDescriptor>();
const familyDescriptorsMax = 1_000;

function describeFamilyType(type: string): ColumnDescriptor {
  let descriptor = familyDescriptors.get(type);
  if (!descriptor) {
    const created = familyDescriptor(type);
    if (!created) throw new Error(`${type} is not a column type.`);
    if (familyDescriptors.size >= familyDescriptorsMax) familyDescriptors.clear();
    familyDescriptors.set(type, created);
    descriptor = created;
  }
  return descriptor;
}

export const isPlainType = (text: string): text is PlainType => Object.hasOwn(columnDescriptors, text);
export const isArrayType = (type: ColumnType) => type === 'text[]' || type === 'int[]';

export const namePattern = /^[a-z][a-z0-9_]{0,62}$/;
/** Parameters of a row query: a column with such a name could not be filtered. */
export const reservedNames: readonly string[] = words(
  'select filter sort page per_page cursor count or and not',
);
export const writeParameters: readonly string[] = ['dry_run', 'on_conflict'];

export const idTypes = ['uuid', 'bigint', 'int', 'text'] as const satisfies readonly ColumnType[];
export const ownerColumnTypes = ['text', 'uuid'] as const satisfies readonly ColumnType[];

export const tableDescriptionBytesMax = 1000;
export const tablesPerAppMax = 200;
export const columnsPerTableMax = 1000;
export const indexesPerTableMax = 32;
export const columnsPerIndexMax = 8;
export const grantsPerTableMax = 200;
export const columnDefaultBytesMax = 8 * 1024;

export function isColumnName(name: string): boolean {
  return namePattern.test(name) && !isParameterName(name);
}

export function isParameterName(name: string): boolean {
  return reservedNames.includes(name) || writeParameters.includes(name);
}
