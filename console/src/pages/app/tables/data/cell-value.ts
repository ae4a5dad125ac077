import type { ColumnType } from '@svc/contract/columns.ts';

/** What somebody wrote for a column, as the JSON to send; or what is wrong with it. */
export type Written = { ok: true; json: string } | { ok: false; detail: string };

export const sqlNull = 'null';

/** A value as people read and write it. Null has no text of its own. */
export function cellText(type: ColumnType, json: string): string {
  if (json === sqlNull) return '';
  return type !== 'jsonb' && json.startsWith('"') ? String(JSON.parse(json)) : json;
}

/** The checks of the server, so that a slip is seen while one writes. The server judges all the same. */
export function writtenValue(type: ColumnType, text: string): Written {
  return readers[type](type === 'text' ? text : text.trim());
}

/** How a field is given: as a value, as null, or not at all, so that the column's default counts. */
export interface Field {
  mode: 'value' | 'null' | 'left_out';
  text: string;
}

/** Of a text an empty field is a value; of every other type it is none. */
export function fieldValue(column: { type: ColumnType; nullable: boolean }, field: Field): Written {
  const isNothing = field.mode === 'null' || (field.text.trim() === '' && column.type !== 'text');
  const written = isNothing ? good(sqlNull) : writtenValue(column.type, field.text);
  if (!written.ok || written.json !== sqlNull || column.nullable) return written;
  return bad(field.mode === 'null' ? 'must not be null' : 'must have a value');
}

const good = (json: string): Written => ({ ok: true, json });
const bad = (detail: string): Written => ({ ok: false, detail });
/** Numbers of so many digits are whole in every reader of JSON; longer ones go as text. */
const safeDigits = 15;

const readers: Record<ColumnType, (text: string) => Written> = {
  text: (text) =>
    text.includes('\0') ? bad('must not contain the character U+0000') : good(JSON.stringify(text)),
  int: (text) =>
    wholePattern.test(text) && Math.abs(Number(text) + 0.5) < 2 ** 31
      ? good(String(Number(text)))
      : bad('must be a whole number from -2147483648 to 2147483647'),
  bigint: bigintJson,
  float: (text) =>
    numberPattern.test(text) && Number.isFinite(Number(text))
      ? good(text)
      : bad('must be a number, as in -1.5 or 2e10'),
  bool: (text) => (text === 'true' || text === 'false' ? good(text) : bad('must be true or false')),
  timestamptz: timeJson,
  uuid: (text) => (uuidPattern.test(text) ? good(JSON.stringify(text.toLowerCase())) : bad('must be a UUID')),
  jsonb: (text) => {
    try {
      JSON.parse(text);
      return good(text);
    } catch {
      return bad('must be JSON, as in {"size": 3} or "a text"');
    }
  },
};

const wholePattern = /^-?(?:0|[1-9][0-9]{0,18})$/;
const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const timePattern = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)?)? ?([Zz]|[+-]\d{2}:\d{2})?$/;

function bigintJson(text: string): Written {
  const whole = wholePattern.test(text) ? BigInt(text) : null;
  if (whole === null || BigInt.asIntN(64, whole) !== whole) {
    return bad('must be a whole number from -9223372036854775808 to 9223372036854775807');
  }
  return good(text.length <= safeDigits ? String(whole) : `"${whole}"`);
}

/** A time without an offset is one of UTC, as all that is shown here. */
function timeJson(text: string): Written {
  const match = timePattern.exec(text);
  const [, day, minutes = '00:00', seconds = ':00', fraction = '', offset = 'Z'] = match ?? [];
  const written = `${day}T${minutes}${seconds}${fraction}${offset.toUpperCase()}`;
  return match && !Number.isNaN(Date.parse(written))
    ? good(JSON.stringify(written))
    : bad('must be a date and time, as in 2026-01-31T09:30:00Z');
}
