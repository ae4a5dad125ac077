import type { Column, Style } from './command.ts';
import { bold, columnOf, renderRecord } from './output.ts';
import { cut, pad, widthOf } from './text-width.ts';

const gap = '  ';
const cellCharsMin = 6;

/** Rows below a header, cut to the width; where even that is too wide, one block per row. */
export async function renderTable(
  rows: readonly unknown[],
  shown: readonly Column[],
  style: Style,
): Promise<string> {
  const columns = shown.map(columnOf);
  const titles = columns.map((column) => column.name.replaceAll(/[_.]/g, ' ').toUpperCase());
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const widths = fit(
    columns.map((_, at) =>
      [titles, ...cells].reduce((most, row) => Math.max(most, widthOf(row[at] ?? '')), 0),
    ),
    columns.map((column) => column.keep),
    style.width,
  );
  if (widths === null) {
    return (await Promise.all(rows.map((row) => renderRecord(row, shown, style)))).join('\n');
  }
  const lines = [titles, ...cells].map((row) =>
    row
      .map((text, at) => pad(cut(text, widths[at] ?? 0, style), widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  );
  return `${[bold(style, lines[0] ?? ''), ...lines.slice(1)].join('\n')}\n`;
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
