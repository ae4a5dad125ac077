/** Column types with arguments: `decimal(12,2)`, `enum(open,paid)`, and references `ref:authors`. */
import { parseDecimal, parseEnum, parseText } from './column-values.ts';
import type { ColumnDescriptor } from './columns.ts';
import { type FileType, fileDescriptor, fileType, isFileType } from './file-type.ts';
import { type FilterOp, filterOps } from './rows.ts';

export const decimalDigitsMax = 100;
export const enumValuesMax = 200;
export const enumValueCharsMax = 63;

export type RefType = `ref:${string}`;
export type FamilyType = `decimal(${number},${number})` | `enum(${string})` | FileType | RefType;
export const columnFamilies = {
  decimal: 'decimal(12,2)',
  enum: 'enum(a,b)',
  file: 'file(max=5MB,types=image/*)',
} as const;

/** Texts between quotes or with separators of the column syntax are not values. */
const enumValuePattern = /^[\p{L}\p{N}_.+/#&-]+(?: [\p{L}\p{N}_.+/#&-]+)*$/u;

export function familyType(family: string, args: readonly string[]): FamilyType | { detail: string } {
  if (family === 'file') return fileType(args);
  return family === 'decimal' ? decimalType(args) : enumType(args);
}

function decimalType(args: readonly string[]): FamilyType | { detail: string } {
  const [digits, scale] = args.map((arg) => (/^[0-9]{1,3}$/.test(arg) ? Number(arg) : -1));
  if (digits === undefined || scale === undefined || args.length !== 2)
    return { detail: 'decimal needs the digits in all and those after the point, as in decimal(12,2)' };
  if (digits < 1 || digits > decimalDigitsMax || scale < 0 || scale > digits)
    return {
      detail: `decimal has 1 to ${decimalDigitsMax} digits, of which none to all are after the point`,
    };
  return `decimal(${digits},${scale})`;
}

function enumType(values: readonly string[]): FamilyType | { detail: string } {
  if (values.length === 0 || values.length > enumValuesMax || values[0] === '')
    return { detail: `enum needs 1 to ${enumValuesMax} values, as in enum(open,paid)` };
  const wrong = values.find((value) => value.length > enumValueCharsMax || !enumValuePattern.test(value));
  if (wrong !== undefined)
    return {
      detail: `a value of an enum has 1 to ${enumValueCharsMax} letters, digits, single spaces and _ . + / # & -`,
    };
  const twice = values.find((value, at) => values.indexOf(value) !== at);
  if (twice !== undefined) return { detail: `the enum has the value ${twice} twice` };
  return `enum(${values.join(',')})`;
}

const argsOf = (type: string) => type.slice(type.indexOf('(') + 1, -1).split(',');

export function enumValues(type: string): readonly string[] | null {
  return type.startsWith('enum(') ? argsOf(type) : null;
}

export function decimalDigits(type: string): { digits: number; scale: number } | null {
  if (!type.startsWith('decimal(')) return null;
  const [digits = 0, scale = 0] = argsOf(type).map(Number);
  return { digits, scale };
}

/** The table whose rows a column refers to. */
export function refTarget(type: string): string | null {
  return type.startsWith('ref:') ? type.slice('ref:'.length) : null;
}

/** What happens to a row when the row that it refers to is deleted. */
export const deleteActions = ['restrict', 'cascade', 'set_null'] as const;
export type DeleteAction = (typeof deleteActions)[number];

const common: readonly FilterOp[] = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'is', 'between'];

export function familyDescriptor(type: string): ColumnDescriptor | null {
  if (isFileType(type)) return fileDescriptor(type);
  const decimal = decimalDigits(type);
  if (decimal) return decimalDescriptor(decimal);
  if (refTarget(type) !== null) return refDescriptor;
  const values = enumValues(type);
  return values && enumDescriptor(values);
}

function decimalDescriptor({ digits, scale }: { digits: number; scale: number }): ColumnDescriptor {
  const whole = digits - scale;
  const fraction = scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`;
  return {
    sql: 'numeric',
    declaration: `numeric(${digits},${scale})`,
    json: 'decimal',
    ts: 'string',
    tsInput: 'string | number | bigint',
    openapi: {
      type: 'string',
      format: 'decimal',
      pattern: `^-?(0|[1-9][0-9]{0,${Math.max(whole - 1, 0)}})${fraction}$`,
    },
    example: scale === 0 ? '1' : `${whole === 0 ? 0 : 1}.${'5'.padEnd(scale, '0')}`,
    operators: filterOps.filter((op) => common.includes(op)),
    suggestedOperators: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between', 'in'],
    exampleOperator: 'gte',
    parse: (text) => parseDecimal(text, digits, scale),
    // Stored values have the same number of digits after the point.
    compare: (a, b) => compareBigints(BigInt(a.replace('.', '')), BigInt(b.replace('.', ''))),
  };
}

const compareBigints = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

function enumDescriptor(values: readonly string[]): ColumnDescriptor {
  return {
    sql: 'text',
    declaration: 'text collate "C"',
    json: 'string',
    ts: values.map((value) => JSON.stringify(value)).join(' | '),
    openapi: { type: 'string', enum: values },
    example: values[0],
    operators: ['eq', 'neq', 'in', 'is'],
    suggestedOperators: ['eq', 'neq', 'in'],
    exampleOperator: 'eq',
    parse: (text) => parseEnum(text, values),
  };
}

/** Used where the ids of the table are not known; `value_type` of a column is their type. */
const refDescriptor: ColumnDescriptor = {
  sql: 'text',
  json: 'string',
  ts: 'string | number',
  openapi: { description: 'The id of a row.' },
  example: 'id',
  operators: ['eq', 'neq', 'in', 'is'],
  suggestedOperators: ['eq', 'neq', 'in'],
  exampleOperator: 'eq',
  parse: parseText,
};
