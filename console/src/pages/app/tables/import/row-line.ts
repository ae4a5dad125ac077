import { cellText, fieldValue, sqlNull, type Written, writtenValue } from '../data/cell-value.ts';
import { objectText } from '../data/raw-json.ts';
import type { ColumnView } from '../use-table.ts';
import type { SourceField, SourceRecord } from './source-records.ts';

/** Which column a field of the file goes to; null: it is left out. */
export type Mapping = ReadonlyMap<string, string | null>;

export interface LineFault {
  line: number;
  column: string | null;
  detail: string;
}

export type RowLine = { ok: true; text: string } | { ok: false; faults: LineFault[] };

/** By name; what the service keeps itself can not be given. */
export function mappingFor(names: readonly string[], columns: readonly ColumnView[]): Mapping {
  const takes = (name: string) => columns.find((column) => column.name === name && isGiven(column));
  return new Map(
    names.map((name) => [name, takes(name)?.name ?? takes(name.trim().toLowerCase())?.name ?? null]),
  );
}

/** An id that the service makes may be given; the times that it keeps may not. */
export const isGiven = ({ name, generated }: ColumnView) => !generated || name === 'id';

/** One line of a batch, or what is wrong with the record. */
export function rowLine(record: SourceRecord, mapping: Mapping, columns: readonly ColumnView[]): RowLine {
  const { line } = record;
  if (record.fault !== null) return { ok: false, faults: [{ line, column: null, detail: record.fault }] };
  const members: [string, string][] = [];
  const faults: LineFault[] = [];
  for (const [name, field] of record.fields) {
    const target = mapping.get(name);
    if (target === null) continue;
    const column = columns.find((each) => each.name === target);
    if (!column) {
      faults.push({ line, column: name, detail: 'is not among the names of the first records' });
      continue;
    }
    const written = fieldJson(column, field);
    if (written === null) continue;
    if (written.ok) members.push([column.name, written.json.replaceAll(/[\r\n]+/g, ' ')]);
    else faults.push({ line, column: column.name, detail: written.detail });
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, text: objectText(members) };
}

/** Null: nothing is said of the column. */
export function fieldJson(column: ColumnView, field: SourceField): Written | null {
  if (field.kind === 'json') return jsonValue(column, field.json);
  if (field.text === '' && !field.isQuoted) return column.nullable ? { ok: true, json: sqlNull } : null;
  return fieldValue(column, { mode: 'value', text: field.text });
}

function jsonValue(column: ColumnView, json: string): Written {
  if (json === sqlNull) return fieldValue(column, { mode: 'null', text: '' });
  const isText = json.startsWith('"');
  switch (column.type) {
    case 'jsonb':
      return { ok: true, json };
    case 'text':
      return isText ? { ok: true, json } : { ok: false, detail: 'must be a text' };
    case 'timestamptz':
    case 'uuid':
      return isText
        ? writtenValue(column.type, cellText(column.type, json))
        : { ok: false, detail: 'must be a text' };
    case 'bigint':
      return writtenValue(column.type, cellText(column.type, json));
    case 'int':
    case 'float':
    case 'bool':
      return writtenValue(column.type, json);
  }
}
