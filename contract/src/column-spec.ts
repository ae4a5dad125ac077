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

export function isColumnType(text: string): text is ColumnType {
  return columnTypes.some((type) => type === text);
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf(':');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
