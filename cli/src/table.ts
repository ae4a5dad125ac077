import type { Style } from './command.ts';
import { cut, pad, widthOf } from './text-width.ts';

const gap = '  ';
const cellCharsMin = 6;

export interface Grid {
  titles: readonly string[];
  /** Which columns are useless when cut. */
  keep: readonly boolean[];
  rows: readonly (readonly string[])[];
}

/** A line for the titles and one for each row, cut to the width; `null` where no cutting would make it fit. */
export function tableLines({ titles, keep, rows }: Grid, style: Style): string[] | null {
  const natural = titles.map((title, at) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[at] ?? '')), widthOf(title)),
  );
  const widths = fit(natural, keep, style.width);
  if (widths === null) return null;
  return [titles, ...rows].map((row) =>
    row
      .map((text, at) => pad(cut(text, widths[at] ?? 0, style), widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

/** Takes from the widest columns first. */
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
