import { brokenCheck, type ColumnChecks } from '@svc/contract/column-checks.ts';
import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';

export type ParsedCell = { ok: true; json: string } | { ok: false; detail: string };

export const sqlNull = 'null';

export function formatCell(type: ColumnType, json: string): string {
  if (json === sqlNull) return '';
  return describeColumnType(type).json !== 'json' && json.startsWith('"') ? String(JSON.parse(json)) : json;
}

export function parseCell(type: ColumnType, text: string): ParsedCell {
  const { json, parse } = describeColumnType(type);
  const typed = json === 'string' ? text : text.trim();
  const parsed = parse(json === 'timestamp' ? withOffset(typed) : typed);
  if (!parsed.ok) return bad(parsed.detail);
  switch (json) {
    case 'string':
    case 'token':
    case 'timestamp':
    case 'decimal':
      return good(JSON.stringify(parsed.value));
    case 'integer':
      return good(parsed.value.length <= safeDigits ? parsed.value : `"${parsed.value}"`);
    case 'number':
    case 'boolean':
    case 'json':
    case 'strings':
    case 'numbers':
      return good(typed);
  }
}

export interface Field {
  mode: 'value' | 'null' | 'left_out';
  text: string;
}

interface FieldColumn {
  type: ColumnType;
  nullable: boolean;
  checks?: unknown;
}

export function parseField(column: FieldColumn, field: Field): ParsedCell {
  const isNothing = field.mode === 'null' || (field.text.trim() === '' && column.type !== 'text');
  const written = isNothing ? good(sqlNull) : parseCell(column.type, field.text);
  if (!written.ok) return written;
  if (!isNothing && column.checks) {
    const { json, parse } = describeColumnType(column.type);
    const value = parse(json === 'string' ? field.text : field.text.trim());
    const broken = value.ok && brokenCheck(column.type, column.checks as ColumnChecks, value.value);
    if (broken) return bad(broken.detail);
  }
  if (written.json !== sqlNull || column.nullable) return written;
  return bad(field.mode === 'null' ? 'must not be null' : 'must have a value');
}

const good = (json: string): ParsedCell => ({ ok: true, json });
const bad = (detail: string): ParsedCell => ({ ok: false, detail });
/** Every JSON parser preserves integers of so many digits; longer ones are sent as strings. */
const safeDigits = 15;

const timePattern = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)?)? ?([Zz]|[+-]\d{2}:\d{2})?$/;

function withOffset(text: string): string {
  const match = timePattern.exec(text);
  if (!match) return text;
  const [, day, minutes = '00:00', seconds = ':00', fraction = '', offset = 'Z'] = match;
  return `${day}T${minutes}${seconds}${fraction}${offset.toUpperCase()}`;
}
