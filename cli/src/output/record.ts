import type { Column } from '../command.ts';
import { bold, cellText, type Style } from '../framework/text.ts';
import { isTime, relativeAndExact } from './times.ts';

export function listItems(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value;
  const page = asRecord(value);
  const items = page.has_more === undefined ? page.items : page.data;
  return Array.isArray(items) ? items : null;
}

/** Times are relative to `now`, unless it is null. */
export function renderRecord(
  record: unknown,
  shown: readonly Column[] | undefined,
  style: Style,
  now: Date | null,
): string | Promise<string> {
  const columns = (shown ?? Object.keys(asRecord(record))).map(toColumn);
  let nameWidth = 0;
  for (const { name } of columns) nameWidth = Math.max(nameWidth, name.length);
  const textOf = ({ name, read }: RenderedColumn) => {
    const value = read(record);
    return (now !== null && isTime(name, value) ? relativeAndExact(value, now) : cellText(value)) || '-';
  };
  const { width } = style;
  if (width !== null) {
    const fields = columns.map((column) => ({ name: column.name, value: textOf(column) }));
    return import('../framework/layout.ts').then(({ fieldLines }) =>
      fieldLines(fields, { nameWidth, width, bold: (text) => bold(style, text) }),
    );
  }
  let text = '';
  for (const column of columns) text += `${column.name.padEnd(nameWidth)}  ${textOf(column)}\n`;
  return text;
}

export interface RenderedColumn {
  name: string;
  read: (record: unknown) => unknown;
}

export function toColumn(column: Column): RenderedColumn {
  if (typeof column !== 'string')
    return { name: column.title, read: (record) => column.value(asRecord(record)) };
  const path = column.split('.');
  return {
    name: column,
    read: (record) => path.reduce<unknown>((at, key) => asRecord(at)[key], record),
  };
}

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
