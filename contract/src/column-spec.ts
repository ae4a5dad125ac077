import { type ColumnType, columnTypes } from './columns.ts';

/** One column as people write it: `name:type[:nullable][:default]`. */
export interface ColumnSpec {
  name: string;
  type: ColumnType;
  nullable: boolean;
  /** The text of a literal, `now()` or `gen_random_uuid()`; null for none. */
  default: string | null;
}

/**
 * Only the first three `:` split, so that a default may hold any. A third part that is not `nullable` is the default,
 * with all that follows it. Returns what is wrong as text.
 */
export function parseColumnSpec(text: string): ColumnSpec | string {
  const [name = '', rest] = splitOnce(text);
  if (rest === undefined) return `\`${text}\` lacks a type: name:type[:nullable][:default]`;
  const [type = '', third] = splitOnce(rest);
  if (!isColumnType(type)) return `\`${type}\` is not a column type; known: ${columnTypes.join(', ')}`;
  if (third === undefined) return { name, type, nullable: false, default: null };
  if (third === 'nullable') return { name, type, nullable: true, default: null };
  if (third.startsWith('nullable:'))
    return { name, type, nullable: true, default: third.slice('nullable:'.length) };
  return { name, type, nullable: false, default: third };
}

/** A default that looks like `nullable` can not be told from it in this form. */
export function columnSpecText({ name, type, nullable, default: text }: ColumnSpec): string {
  return [name, type, ...(nullable ? ['nullable'] : []), ...(text === null ? [] : [text])].join(':');
}

/**
 * The text of a default that came as JSON. A number that JSON can not carry with all its digits is refused, and one for
 * a column whose values are no numbers: what was meant can no longer be told.
 */
export function literalText(
  type: ColumnType,
  given: string | number | boolean | null,
): { ok: true; text: string | null } | { ok: false; detail: string } {
  if (given === null || typeof given === 'string') return { ok: true, text: given };
  if (writtenAsText.includes(type)) return { ok: false, detail: `of a ${type} column must be a text` };
  if (typeof given === 'number' && Math.abs(given) > Number.MAX_SAFE_INTEGER) {
    return { ok: false, detail: 'is a number whose digits may be lost in JSON; write it as a text' };
  }
  return { ok: true, text: String(given) };
}

const writtenAsText: readonly ColumnType[] = ['text', 'uuid', 'timestamptz', 'jsonb'];

export function isColumnType(text: string): text is ColumnType {
  return columnTypes.some((type) => type === text);
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf(':');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
