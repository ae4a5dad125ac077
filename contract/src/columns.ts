import {
  type ParsedValue,
  parseBool,
  parseDate,
  parseFloat64,
  parseInt32,
  parseInt64,
  parseJson,
  parseText,
  parseTimestamp,
  parseUuid,
} from './column-values.ts';
import { type FilterOp, filterOps } from './rows.ts';
import { words } from './words.ts';

/** `token`: a string that needs no escaping. `integer`: a string where a double would lose digits. */
export type JsonKind = 'string' | 'token' | 'timestamp' | 'number' | 'integer' | 'boolean' | 'json';

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
}

const textOperators: readonly FilterOp[] = ['like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas'];
const jsonOperators: readonly FilterOp[] = ['cs', 'cd', 'hk'];
const commonOperators = filterOps.filter((op) => !textOperators.includes(op) && !jsonOperators.includes(op));
const order: readonly FilterOp[] = ['gt', 'gte', 'lt', 'lte', 'between'];
const equality: readonly FilterOp[] = ['eq', 'neq'];
const number = {
  operators: commonOperators,
  suggestedOperators: [...equality, ...order, 'in'],
  exampleOperator: 'gte',
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
    operators: filterOps.filter((op) => !jsonOperators.includes(op)),
    suggestedOperators: ['ihas', 'isw', 'iew', ...equality, 'in', ...order],
    exampleOperator: 'eq',
    parse: parseText,
  },
  int: {
    ...number,
    sql: 'int4',
    json: 'number',
    ts: 'number',
    openapi: { type: 'integer', format: 'int32', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
    example: 42,
    parse: parseInt32,
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
  },
  float: {
    ...number,
    sql: 'float8',
    json: 'number',
    ts: 'number',
    openapi: { type: 'number', format: 'double' },
    example: 1.5,
    parse: parseFloat64,
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
  },
  date: {
    ...time,
    sql: 'date',
    json: 'token',
    ts: 'string',
    openapi: { type: 'string', format: 'date' },
    example: '2026-01-31',
    parse: parseDate,
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
  },
  jsonb: {
    sql: 'jsonb',
    json: 'json',
    ts: 'Json',
    openapi: { description: 'Any JSON.' },
    example: { key: 'value' },
    operators: filterOps.filter((op) => !textOperators.includes(op)),
    suggestedOperators: ['cs', 'hk'],
    exampleOperator: 'cs',
    parse: parseJson,
  },
} as const satisfies Record<string, ColumnDescriptor>;

export type ColumnType = keyof typeof columnDescriptors;
export const columnTypes = Object.keys(columnDescriptors) as [ColumnType, ...ColumnType[]];

export function describeColumnType(type: ColumnType): ColumnDescriptor {
  return columnDescriptors[type];
}

export function isColumnType(text: string): text is ColumnType {
  return Object.hasOwn(columnDescriptors, text);
}

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
  return namePattern.test(name) && !reservedNames.includes(name) && !writeParameters.includes(name);
}
