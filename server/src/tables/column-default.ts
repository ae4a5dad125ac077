import { type ColumnType, columnDefaultBytesMax } from '@svc/contract/columns.ts';
import type { ColumnDefault } from './catalogue.ts';
import type { ColumnRow } from './store.ts';
import { fromText } from './values.ts';

/** What takes the place of a literal, and for which type. Of a text, everything is a literal. */
const functions: Partial<Record<ColumnType, { text: string; default: ColumnDefault }>> = {
  timestamptz: { text: 'now()', default: { kind: 'now' } },
  uuid: { text: 'gen_random_uuid()', default: { kind: 'random_uuid' } },
};

/** Never SQL text: a literal of the type, as PostgreSQL reads it back, or one of the functions. */
export function checkDefault(type: ColumnType, text: string): ReturnType<typeof fromText> {
  if (Buffer.byteLength(text) > columnDefaultBytesMax) {
    return { ok: false, detail: `must be at most ${columnDefaultBytesMax} bytes` };
  }
  if (functions[type]?.text === text) return { ok: true, value: text };
  const checked = fromText(type, text);
  // In rows the null of JSON is no value at all, and a column without a default has that one already.
  if (checked.ok && type === 'jsonb' && checked.value.trim() === 'null') {
    return { ok: false, detail: 'must not be null; leave the default out' };
  }
  return checked;
}

/** What a row gets where none was given for the column. */
export function defaultOf({
  role,
  type,
  default_text: text,
}: Pick<ColumnRow, 'role' | 'type' | 'default_text'>): ColumnDefault | null {
  if (text !== null) {
    const known = functions[type];
    return known?.text === text ? known.default : { kind: 'literal', text };
  }
  if (role !== 'id') return null;
  if (type === 'uuid') return { kind: 'uuid_v7' };
  return type === 'int' || type === 'bigint' ? { kind: 'sequence' } : null;
}
