import { ProblemError } from '@svc/contract/client.ts';
import { parseColumnSpec } from '@svc/contract/column-spec.ts';
import {
  type ColumnType,
  columnTypeForms,
  describeColumnType,
  type JsonKind,
  valueType,
} from '@svc/contract/columns.ts';
import { type CsvField, type FileRecord, parseCsvRecord } from '@svc/contract/csv.ts';
import { isObject } from '@svc/contract/json.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { getTable } from '@svc/contract/tables.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { joinOr } from '../framework/text.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import type { TableRef } from './rows-client.ts';

export interface SourceRow {
  line: number;
  json: string;
  text: string;
}

export type Converted = SourceRow | { fault: LineFault; text: string };

export type Convert = (record: FileRecord) => Converted | null;

export const convertJsonLine: Convert = ({ line, bytes }) => {
  const text = decode(bytes);
  if (text === null) return { fault: notUtf8Fault(line), text: lossy.decode(bytes) };
  return text.trim() === '' ? null : { line, json: text, text };
};

export const checkJsonLine: Convert = (record) => {
  const converted = convertJsonLine(record);
  if (converted === null || 'fault' in converted) return converted;
  const detail = jsonFault(converted.json);
  if (detail === null) return converted;
  return { fault: { line: record.line, code: 'invalid_json', detail }, text: converted.text };
};

function jsonFault(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? null : 'must be a JSON object';
  } catch {
    return 'must be valid JSON';
  }
}

interface CsvConverter {
  convert: Convert;
  header: string;
}

export function csvConverter(record: FileRecord, known: KnownColumns): CsvConverter {
  const header = decode(record.bytes) ?? '';
  const columns = headerColumns(record.line, header, known);
  const convert: Convert = ({ line, bytes }) => {
    const text = decode(bytes);
    if (text === null) return { fault: notUtf8Fault(line), text: lossy.decode(bytes) };
    if (text === '' && columns.length > 1) return null;
    const fields = parseCsvRecord(text);
    if (typeof fields === 'string') return { fault: { line, code: 'invalid_csv', detail: fields }, text };
    if (fields.length !== columns.length) {
      const detail = `has ${fields.length} fields, the header ${columns.length}`;
      return { fault: { line, code: 'invalid_csv', detail }, text };
    }
    const members: string[] = [];
    for (const [at, column] of columns.entries()) {
      const value = fieldJson(column, fields[at] ?? null);
      if (value === invalidJson)
        return {
          fault: { line, column: column.name, code: 'invalid_value', detail: 'must be valid JSON' },
          text,
        };
      if (value !== undefined) members.push(`${column.key}:${value}`);
    }
    return { line, json: `{${members.join(',')}}`, text };
  };
  return { convert, header };
}

interface CsvColumn extends KnownColumn {
  name: string;
  key: string;
}

function headerColumns(line: number, header: string, known: KnownColumns): CsvColumn[] {
  const names = parseCsvRecord(header);
  const headerError = (detail: string, column?: string) =>
    rejectedLinesError(
      [{ line, ...(column !== undefined && { column }), code: 'invalid_csv', detail }],
      'The first line of a CSV file must contain the column names.',
    );
  if (typeof names === 'string') throw headerError(names);
  const other = names.length === 1 ? /[;\t|]/.exec(header)?.[0] : undefined;
  if (other !== undefined) {
    throw headerError(
      `has ${other === '\t' ? 'tabs' : `\`${other}\``} between its names; separate fields with commas`,
    );
  }
  const seen = new Set<string>();
  return names.map((name) => {
    if (name === null) throw headerError('a column has no name');
    if (seen.has(name)) throw headerError('is a duplicate', name);
    seen.add(name);
    const column = known.get(name);
    if (column === undefined)
      throw headerError(`is not a known column; known columns are ${[...known.keys()].join(', ')}`, name);
    return { name, key: JSON.stringify(name), ...column };
  });
}

const invalidJson = Symbol('invalid JSON');
const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** Undefined omits the column, so that its default applies. */
function fieldJson(
  { type, nullable }: KnownColumn,
  field: CsvField,
): string | typeof invalidJson | undefined {
  if (field === null) return nullable === false ? undefined : 'null';
  return readField(describeColumnType(type).json, field);
}

/** A field that does not look like its type is sent as a string: the server reports what is wrong with it. */
function readField(kind: JsonKind, field: string): string | typeof invalidJson {
  switch (kind) {
    case 'string':
      return JSON.stringify(field);
    case 'token':
    case 'timestamp':
    case 'integer':
    case 'decimal':
      return JSON.stringify(field.trim());
    case 'number':
      return numberOrText(field);
    case 'boolean':
      return booleanOrText(field);
    case 'json':
    case 'strings':
    case 'numbers':
      try {
        JSON.parse(field);
      } catch {
        return invalidJson;
      }
      // Line breaks in JSON are white space, and would end the line that is sent.
      return field.replaceAll(/[\r\n]/g, ' ');
  }
}

function booleanOrText(field: string): string {
  const word = field.trim().toLowerCase();
  if (['true', 't', 'yes', '1'].includes(word)) return 'true';
  return ['false', 'f', 'no', '0'].includes(word) ? 'false' : JSON.stringify(field);
}

function numberOrText(field: string): string {
  const text = field.trim();
  return jsonNumber.test(text) ? text : JSON.stringify(field);
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder('utf-8', { ignoreBOM: true });

function decode(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

function notUtf8Fault(line: number): LineFault {
  return { line, code: 'invalid_encoding', detail: 'must be UTF-8' };
}

interface KnownColumn {
  type: ColumnType;
  nullable: boolean | null;
}

export type KnownColumns = ReadonlyMap<string, KnownColumn>;

export async function fetchColumns(ctx: Ctx, { tenant, app, table }: TableRef): Promise<KnownColumns | null> {
  const { client, isLimited } = await ctx.session();
  if (isLimited) return null;
  try {
    const params = { tenantID: tenant, app, table };
    const { columns } = await client.call(getTable, { params });
    return new Map(
      columns.map((column) => [column.name, { type: valueType(column), nullable: column.nullable }]),
    );
  } catch (cause) {
    if (cause instanceof ProblemError && [403, 404].includes(cause.problem.status)) return null;
    throw cause;
  }
}

export function parseTypes(entries: readonly string[]): KnownColumns {
  return new Map(
    entries.map((entry) => {
      const spec = parseColumnSpec(entry);
      if (typeof spec === 'string' || spec.name === '') {
        throw usageError(
          `--types takes column:type, where type is ${joinOr(columnTypeForms)}; not ${JSON.stringify(entry)}.`,
        );
      }
      return [spec.name, { type: spec.type, nullable: null }];
    }),
  );
}

export interface LineFault extends ProblemItem {
  line: number;
}

export function rejectedLinesError(faults: readonly LineFault[], next: string): AdvisedProblemError {
  return new AdvisedProblemError(
    {
      type: 'about:blank',
      title: 'Rejected input',
      status: 400,
      detail: faults.length === 1 ? 'A line of the file is invalid.' : 'Lines of the file are invalid.',
      code: 'validation_failed',
      request_id: '',
      errors: [...faults],
    },
    next,
  );
}
