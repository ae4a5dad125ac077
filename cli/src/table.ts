import { asRecord, columnOf } from './cell.ts';
import type { Column, Style, View } from './command.ts';
import { bold } from './terminal.ts';
import { cut, pad, widthOf, wrap } from './text-width.ts';

const gap = '  ';
const cellCharsMin = 6;

/** Rows below a header, cut to the width; where even that is too wide, one block per row. */
export function renderTable(rows: readonly unknown[], view: View, style: Style): string {
  const columns = view.columns.map(columnOf);
  const titles = columns.map((column) => column.name.replaceAll(/[_.]/g, ' ').toUpperCase());
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const widths = fit(
    columns.map((_, at) => Math.max(...[titles, ...cells].map((row) => widthOf(row[at] ?? '')))),
    columns.map((column) => column.keep),
    style.width,
  );
  if (widths === null) return rows.map((row) => renderFields(row, view.columns, style)).join('\n');
  const line = (row: readonly string[]) =>
    row.map((text, at) => pad(cut(text, widths[at] ?? 0, style), widths[at] ?? 0));
  const lines = [titles, ...cells].map((row) => line(row).join(gap).trimEnd());
  return `${[bold(style, lines[0] ?? ''), ...lines.slice(1)].join('\n')}\n`;
}

/** One record as `name  value` lines; values too long for that go on below. */
export function renderFields(record: unknown, fields: readonly Column[] | undefined, style: Style): string {
  const columns = (fields ?? Object.keys(asRecord(record))).map(columnOf);
  const nameWidth = Math.max(0, ...columns.map((column) => widthOf(column.name)));
  const room = (style.width ?? Number.POSITIVE_INFINITY) - nameWidth - gap.length;
  return columns
    .map((column) => {
      const value = column.value(record) || '-';
      const name = bold(style, pad(column.name, nameWidth));
      if (widthOf(value) <= room) return `${name}${gap}${value}\n`;
      if (room >= 20) return `${name}${gap}${wrap(value, room).join(`\n${' '.repeat(nameWidth)}${gap}`)}\n`;
      const below = wrap(value, Math.max(10, room + nameWidth)).map((part) => `${gap}${part}\n`);
      return `${bold(style, column.name)}\n${below.join('')}`;
    })
    .join('');
}

/** Widths that fit, taken from the widest columns first; `null` when no width would do. */
function fit(natural: readonly number[], keep: readonly boolean[], limit: number | null): number[] | null {
  const widths = [...natural];
  const spaces = gap.length * Math.max(0, widths.length - 1);
  let over = widths.reduce((sum, width) => sum + width, spaces) - (limit ?? Number.POSITIVE_INFINITY);
  for (; over > 0; over -= 1) {
    let widest = -1;
    for (const [at, width] of widths.entries()) {
      if (!keep[at] && width > cellCharsMin && width > (widths[widest] ?? 0)) widest = at;
    }
    if (widest === -1) return null;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
