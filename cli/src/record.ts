import type { Column, Style } from './command.ts';
import { bold, plain } from './terminal.ts';

const gap = '  ';

/** One record as `name  value` lines; values too long for that go on below. */
export async function renderRecord(
  record: unknown,
  fields: readonly Column[] | undefined,
  style: Style,
): Promise<string> {
  const columns = (fields ?? Object.keys(asRecord(record))).map(columnOf);
  const nameWidth = columns.reduce((most, column) => Math.max(most, column.name.length), 0);
  const line = (name: string, value: string) => `${bold(style, name.padEnd(nameWidth))}${gap}${value}\n`;
  const { width } = style;
  if (width === null) return columns.map((column) => line(column.name, column.value(record) || '-')).join('');
  const { widthOf, wrap } = await import('./text-width.ts');
  const room = width - nameWidth - gap.length;
  return columns
    .map((column) => {
      const value = column.value(record) || '-';
      if (widthOf(value) <= room) return line(column.name, value);
      if (room >= 20) return line(column.name, wrap(value, room).join(`\n${' '.repeat(nameWidth)}${gap}`));
      const below = wrap(value, Math.max(10, width - gap.length)).map((part) => `${gap}${part}\n`);
      return `${bold(style, column.name)}\n${below.join('')}`;
    })
    .join('');
}

export interface ReadyColumn {
  name: string;
  /** Ids and secrets are useless when cut. */
  keep: boolean;
  value: (record: unknown) => string;
}

export function columnOf(column: Column): ReadyColumn {
  if (typeof column !== 'string') {
    return { name: column.title, keep: false, value: (record) => cell(column.value(asRecord(record))) };
  }
  const path = column.split('.');
  return {
    name: column,
    keep: column === 'id' || column.endsWith('_id') || column === 'secret',
    value: (record) => cell(path.reduce<unknown>((at, key) => asRecord(at)[key], record)),
  };
}

/** A value as one line of text. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((entry) => typeof entry !== 'object'))
    return value.map(cell).join(', ');
  return plain(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
