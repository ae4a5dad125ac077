import type { ColumnType } from '@svc/contract/columns.ts';
import type { KnownColumn, KnownColumns } from './column-types.ts';
import { type CsvField, parseCsvRecord } from './csv.ts';
import type { SourceRecord } from './read-records.ts';
import { type LineFault, refusedLines } from './refused-lines.ts';

/** A record as it will be sent. */
export interface SourceRow {
  line: number;
  json: string;
  /** As it stands in the file. */
  text: string;
}

export type Converted = SourceRow | { fault: LineFault; text: string };

/** Null for a record that is none: an empty line. */
export type Convert = (record: SourceRecord) => Converted | null;

/** Lines of JSON go as they are; what is wrong with one, the server says. */
export const convertJsonLine: Convert = ({ line, bytes }) => {
  const text = decode(bytes);
  if (text === null) return { fault: notUtf8(line), text: lossy.decode(bytes) };
  return text.trim() === '' ? null : { line, json: text, text };
};

/** The same for a preview, which sends few of them. */
export const checkJsonLine: Convert = (record) => {
  const converted = convertJsonLine(record);
  if (converted === null || 'fault' in converted) return converted;
  const detail = faultOfJson(converted.json);
  if (detail === null) return converted;
  return { fault: { line: record.line, code: 'invalid_json', detail }, text: converted.text };
};

function faultOfJson(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? null
      : 'must be a JSON object';
  } catch {
    return 'must be valid JSON';
  }
}

export interface CsvConverter {
  convert: Convert;
  /** The header as it stands in the file. */
  header: string;
}

/** By the header, and by the types that the table's columns have. */
export function csvConverter(record: SourceRecord, known: KnownColumns): CsvConverter {
  const header = decode(record.bytes) ?? '';
  const columns = headerColumns(record.line, header, known);
  const convert: Convert = ({ line, bytes }) => {
    const text = decode(bytes);
    if (text === null) return { fault: notUtf8(line), text: lossy.decode(bytes) };
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
  /** As JSON. */
  key: string;
}

function headerColumns(line: number, header: string, known: KnownColumns): CsvColumn[] {
  const names = parseCsvRecord(header);
  const wrong = (detail: string, column?: string) =>
    refusedLines(
      [{ line, ...(column !== undefined && { column }), code: 'invalid_csv', detail }],
      'The first record of a CSV file must name the columns.',
    );
  if (typeof names === 'string') throw wrong(names);
  const other = names.length === 1 ? /[;\t|]/.exec(header)?.[0] : undefined;
  if (other !== undefined) {
    throw wrong(
      `has ${other === '\t' ? 'tabs' : `\`${other}\``} between its names; fields are separated by commas`,
    );
  }
  const seen = new Set<string>();
  return names.map((name) => {
    if (name === null) throw wrong('a column has no name');
    if (seen.has(name)) throw wrong('is named twice', name);
    seen.add(name);
    const column = known.get(name);
    if (column === undefined)
      throw wrong(`is no column whose type is known; known are ${[...known.keys()].join(', ')}`, name);
    return { name, key: JSON.stringify(name), ...column };
  });
}

const invalidJson = Symbol('invalid JSON');
const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** Undefined leaves the column out, so that its default counts. */
function fieldJson(
  { type, nullable }: KnownColumn,
  field: CsvField,
): string | typeof invalidJson | undefined {
  if (field === null) return nullable === false ? undefined : 'null';
  return readField[type](field);
}

/** What does not look like the type goes as text: the server says what is wrong with it. */
const readField: Record<ColumnType, (field: string) => string | typeof invalidJson> = {
  text: JSON.stringify,
  uuid: (field) => JSON.stringify(field.trim()),
  timestamptz: (field) => JSON.stringify(field.trim()),
  int: numberOrText,
  float: numberOrText,
  bigint: (field) => JSON.stringify(field.trim()),
  bool: (field) => {
    const word = field.trim().toLowerCase();
    if (['true', 't', 'yes', '1'].includes(word)) return 'true';
    return ['false', 'f', 'no', '0'].includes(word) ? 'false' : JSON.stringify(field);
  },
  jsonb: (field) => {
    try {
      JSON.parse(field);
    } catch {
      return invalidJson;
    }
    // Line ends in JSON stand between its parts only, and would end the line that is sent.
    return field.replaceAll(/[\r\n]/g, ' ');
  },
};

/** The digits go as they are: none is lost. */
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

function notUtf8(line: number): LineFault {
  return { line, code: 'invalid_encoding', detail: 'must be UTF-8' };
}
