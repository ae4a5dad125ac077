import { type InvalidValue, type ParsedValue, parseExactNumber } from '@svc/contract/column-values.ts';
import {
  type ColumnType,
  columnDefaultBytesMax,
  describeColumnType,
  isArrayType,
} from '@svc/contract/columns.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import { parseItems } from '@svc/contract/filter.ts';
import type { CatalogueColumn, ColumnDefault } from './catalogue.ts';
import type { ColumnRow } from './store.ts';

export type ParsedText = ParsedValue;
export type ParsedJson = { readonly ok: true; readonly value: string | null } | InvalidValue;

export function parseText(type: ColumnType, text: string): ParsedText {
  return describeColumnType(type).parse(text);
}

export type ValueColumn = Pick<CatalogueColumn, 'type' | 'sqlType'>;

/** Decimals and large integers of connectors, whose digits a double would round. */
const isExactNumber = ({ type, sqlType }: ValueColumn) => type === 'float' && sqlType === 'numeric';

export function parseColumnText(column: ValueColumn, text: string): ParsedText {
  return isExactNumber(column) ? parseExactNumber(text) : parseText(column.type, text);
}

/** A value in a query string, where the `+` of an unencoded offset has become a space. A list may be written `(a,b)`. */
export function parseUrlText(column: ValueColumn, text: string): ParsedText {
  if (isExactNumber(column)) return parseExactNumber(text);
  const { type } = column;
  const { json, parse } = describeColumnType(type);
  if (json === 'timestamp') return parse(text.replace(spaceBeforeOffset, '+'));
  const items = isArrayType(type) && text.startsWith('(') ? parseItems(text) : null;
  if (!items) return parse(text);
  return parse(`[${items.map((item) => (json === 'strings' ? JSON.stringify(item) : item)).join(',')}]`);
}

const spaceBeforeOffset = / (?=[0-9]{2}:[0-9]{2}$)/;

/** `raw` is the exact JSON source of one value, so that no digit of a number is lost. */
export function parseJson(column: ValueColumn, raw: string): ParsedJson {
  if (raw === 'null') return sqlNull;
  if (isExactNumber(column))
    return isString(raw) ? parseString(raw, parseExactNumber) : parseExactNumber(raw);
  const { json, parse } = describeColumnType(column.type);
  switch (json) {
    case 'string':
      return isString(raw) ? parseString(raw, parse) : notString;
    case 'token':
    case 'timestamp':
      return isString(raw) ? parseString(raw, parse) : parse('');
    // Few JSON writers preserve a number beyond 2^53, hence the string.
    case 'integer':
    case 'decimal':
      return isString(raw) ? parseString(raw, parse) : parse(raw);
    case 'number':
    case 'boolean':
    case 'json':
    case 'strings':
    case 'numbers':
      return parse(raw);
  }
}

const sqlNull: ParsedJson = Object.freeze({ ok: true, value: null });
const notString: InvalidValue = Object.freeze({ ok: false, detail: 'must be a string' });
const notJson: InvalidValue = Object.freeze({ ok: false, detail: 'must be valid JSON' });

const isString = (raw: string) => raw.length >= 2 && raw.startsWith('"') && raw.endsWith('"');

/** A quote, a backslash or a control character. */
const needsDecoding = /[^ -!#-[\]-\uffff]/;

function parseString(raw: string, parse: (text: string) => ParsedText): ParsedText {
  const inner = raw.slice(1, -1);
  if (!needsDecoding.test(inner)) return parse(inner);
  try {
    return parse(JSON.parse(raw));
  } catch {
    return notJson;
  }
}

const functionDefaults = {
  'now()': { kind: 'now' },
  'gen_random_uuid()': { kind: 'random_uuid' },
} as const satisfies Record<string, ColumnDefault>;

export function parseDefaultText(type: ColumnType, text: string): ReturnType<typeof parseText> {
  if (Buffer.byteLength(text) > columnDefaultBytesMax) {
    return { ok: false, detail: `must be at most ${columnDefaultBytesMax} bytes` };
  }
  if (type === 'autonumber') return { ok: false, detail: 'is not possible: the server assigns the numbers' };
  if (isFileType(type)) return { ok: false, detail: 'is not possible for files' };
  if (describeColumnType(type).defaultFunction === text) return { ok: true, value: text };
  const checked = parseText(type, text);
  if (checked.ok && type === 'jsonb' && checked.value.trim() === 'null') {
    return { ok: false, detail: 'must not be null; omit the default instead' };
  }
  // As in a row: the stored default can be sent again.
  return checked.ok && isArrayType(type) ? { ok: true, value: JSON.stringify(JSON.parse(text)) } : checked;
}

export function columnDefault({
  role,
  type,
  default_text: text,
}: Pick<ColumnRow, 'role' | 'type' | 'default_text'>): ColumnDefault | null {
  if (text !== null) {
    const { defaultFunction, parse } = describeColumnType(type);
    if (defaultFunction === text) return functionDefaults[defaultFunction];
    const value = isArrayType(type) ? parse(text) : null;
    return value?.ok ? { kind: 'literal', text: value.value, json: text } : { kind: 'literal', text };
  }
  if (role !== 'id') return null;
  if (type === 'uuid') return { kind: 'uuid_v7' };
  return type === 'int' || type === 'bigint' ? { kind: 'sequence' } : null;
}
