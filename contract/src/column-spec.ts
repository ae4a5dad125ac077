import { type ColumnType, columnTypes, describeColumnType, isColumnType } from './columns.ts';

export interface ColumnSpec {
  name: string;
  type: ColumnType;
  nullable: boolean;
  default: string | null;
}

/** Only the first three `:` separate parts, so that a default may contain any. */
export function parseColumnSpec(text: string): ColumnSpec | string {
  const [name = '', rest] = splitOnce(text);
  if (rest === undefined) return `\`${text}\` has no type: name:type[:nullable][:default]`;
  const [type = '', third] = splitOnce(rest);
  if (!isColumnType(type)) return `\`${type}\` is not a column type; known: ${columnTypes.join(', ')}`;
  if (third === undefined) return { name, type, nullable: false, default: null };
  if (third === 'nullable') return { name, type, nullable: true, default: null };
  if (third.startsWith('nullable:'))
    return { name, type, nullable: true, default: third.slice('nullable:'.length) };
  return { name, type, nullable: false, default: third };
}

/** A default that reads `nullable` is ambiguous in this form. */
export function columnSpecText({ name, type, nullable, default: text }: ColumnSpec): string {
  return [name, type, ...(nullable ? ['nullable'] : []), ...(text === null ? [] : [text])].join(':');
}

/** A number that may have lost digits in JSON is refused. */
export function literalText(
  type: ColumnType,
  value: string | number | boolean | null,
): { ok: true; text: string | null } | { ok: false; detail: string } {
  if (value === null || typeof value === 'string') return { ok: true, text: value };
  if (!['number', 'integer', 'boolean'].includes(describeColumnType(type).json))
    return { ok: false, detail: `of a ${type} column must be a string` };
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return { ok: false, detail: 'is a number whose digits may be lost in JSON; write it as a string' };
  }
  return { ok: true, text: String(value) };
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf(':');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
