import { describeColumnType } from '@svc/contract/columns.ts';
import {
  type CsvField,
  type FileRecord,
  parseCsvRecord,
  type RowFileFormat,
  readRecords,
} from '@svc/contract/csv.ts';
import { isObject, jsonMembers, objectText } from '@svc/contract/json.ts';
import { formatCell, type ParsedCell, parseCell, parseField, sqlNull } from '../data/cell-value.ts';
import type { ColumnView } from '../use-table.ts';

export type ImportFormat = RowFileFormat;

export interface ImportRecord {
  line: number;
  fields: ReadonlyMap<string, ImportField>;
  fault: string | null;
}
export type ImportField = { kind: 'cell'; text: CsvField } | { kind: 'json'; json: string };

export async function* readImport(source: Blob, format: ImportFormat): AsyncGenerator<ImportRecord> {
  const toRecord = format === 'csv' ? createCsvParser() : parseJsonLine;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const records of readRecords(readChunks(source), format)) {
    for (const record of records) {
      const parsed = toRecord(record, decoder.decode(record.bytes));
      if (parsed) yield parsed;
    }
  }
}

/** `ReadableStream` has no async iterator in Safari. */
async function* readChunks(source: Blob): AsyncGenerator<Uint8Array> {
  const reader = source.stream().getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

export function detectFormat(name: string, beginning: string): ImportFormat {
  if (/\.csv$/i.test(name)) return 'csv';
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return 'jsonl';
  return beginning.trimStart().startsWith('{') ? 'jsonl' : 'csv';
}

type RecordParser = (record: FileRecord, text: string) => ImportRecord | null;

function createCsvParser(): RecordParser {
  let names: string[] | null = null;
  return ({ line }, text) => {
    if (text === '') return null;
    const fields = parseCsvRecord(text);
    if (typeof fields === 'string') {
      names ??= [];
      return { line, fields: new Map(), fault: fields };
    }
    if (names) return toCsvRecord(line, names, fields);
    names = fields.map((name) => name?.trim() ?? '');
    return null;
  };
}

function toCsvRecord(line: number, names: readonly string[], values: readonly CsvField[]): ImportRecord {
  const fields = new Map<string, ImportField>();
  for (const [at, text] of values.slice(0, names.length).entries())
    fields.set(names[at] ?? '', { kind: 'cell', text });
  const fault =
    values.length > names.length ? `has ${values.length} fields, the header has ${names.length}` : null;
  return { line, fields, fault };
}

function parseJsonLine({ line }: FileRecord, text: string): ImportRecord | null {
  if (text.trim() === '') return null;
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below, like every value that is not an object.
  }
  if (!isObject(value)) {
    return { line, fields: new Map(), fault: 'is not a JSON object' };
  }
  const fields = new Map(
    [...jsonMembers(text)].map(([name, json]) => [name, { kind: 'json', json } as const]),
  );
  return { line, fields, fault: null };
}

export type Mapping = ReadonlyMap<string, string | null>;

export interface LineError {
  line: number;
  column: string | null;
  detail: string;
}

type JsonLine = { ok: true; text: string } | { ok: false; faults: LineError[] };

export function defaultMapping(names: readonly string[], columns: readonly ColumnView[]): Mapping {
  const takes = (name: string) => columns.find((column) => column.name === name && isImportable(column));
  return new Map(
    names.map((name) => [name, takes(name)?.name ?? takes(name.trim().toLowerCase())?.name ?? null]),
  );
}

export const isImportable = ({ name, generated }: ColumnView) => !generated || name === 'id';

export function toJsonLine(record: ImportRecord, mapping: Mapping, columns: readonly ColumnView[]): JsonLine {
  const { line } = record;
  if (record.fault !== null) return { ok: false, faults: [{ line, column: null, detail: record.fault }] };
  const members: [string, string][] = [];
  const faults: LineError[] = [];
  for (const [name, field] of record.fields) {
    const target = mapping.get(name);
    if (target === null) continue;
    const column = columns.find((each) => each.name === target);
    if (!column) {
      faults.push({ line, column: name, detail: 'is not a field of the first records' });
      continue;
    }
    const written = fieldJson(column, field);
    if (written === null) continue;
    if (written.ok) members.push([column.name, written.json.replaceAll(/[\r\n]+/g, ' ')]);
    else faults.push({ line, column: column.name, detail: written.detail });
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, text: objectText(members) };
}

export function fieldJson(column: ColumnView, field: ImportField): ParsedCell | null {
  if (field.kind === 'json') return jsonValue(column, field.json);
  if (field.text === null) return column.nullable ? { ok: true, json: sqlNull } : null;
  return parseField(column, { mode: 'value', text: field.text });
}

function jsonValue(column: ColumnView, json: string): ParsedCell {
  if (json === sqlNull) return parseField(column, { mode: 'null', text: '' });
  const isString = json.startsWith('"');
  switch (describeColumnType(column.type).json) {
    case 'json':
      return { ok: true, json };
    case 'strings':
    case 'numbers':
      return parseCell(column.type, json);
    case 'string':
      return isString ? { ok: true, json } : { ok: false, detail: 'must be a string' };
    case 'timestamp':
    case 'token':
      return isString
        ? parseCell(column.type, formatCell(column.type, json))
        : { ok: false, detail: 'must be a string' };
    case 'integer':
    case 'decimal':
      return parseCell(column.type, formatCell(column.type, json));
    case 'number':
    case 'boolean':
      return parseCell(column.type, json);
  }
}
