import type { Style } from './text.ts';

const gap = '  ';
const cellCharsMin = 6;

export interface Grid {
  titles: readonly string[];
  keep: readonly boolean[];
  rows: readonly (readonly string[])[];
}

export function tableLines({ titles, keep, rows }: Grid, style: Style): string[] | null {
  const natural = titles.map((title, at) =>
    rows.reduce((most, row) => Math.max(most, textWidth(row[at] ?? '')), textWidth(title)),
  );
  const widths = fitWidths(natural, keep, style.width);
  if (widths === null) return null;
  return [titles, ...rows].map((row) =>
    row
      .map((text, at) => pad(truncate(text, widths[at] ?? 0, style), widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

function fitWidths(
  natural: readonly number[],
  keep: readonly boolean[],
  limit: number | null,
): number[] | null {
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

export interface FieldLayout {
  nameWidth: number;
  width: number;
  bold: (text: string) => string;
}

export function fieldLines(fields: readonly { name: string; value: string }[], layout: FieldLayout): string {
  const { nameWidth, width, bold } = layout;
  const room = width - nameWidth - 2;
  const hang = `\n${' '.repeat(nameWidth + 2)}`;
  let text = '';
  for (const { name, value } of fields) {
    if (textWidth(value) <= room || room >= 20) {
      text += `${bold(name.padEnd(nameWidth))}  ${wrap(value, room).join(hang)}\n`;
    } else {
      const below = wrap(value, Math.max(10, width - 2)).map((line) => `  ${line}\n`);
      text += `${bold(name)}\n${below.join('')}`;
    }
  }
  return text;
}

export function textWidth(text: string): number {
  return Bun.stringWidth(text);
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

export function truncate(text: string, width: number, style: Style): string {
  if (textWidth(text) <= width) return text;
  const mark = style.unicode ? '…' : '...';
  let fitting = '';
  let room = Math.max(0, width - mark.length);
  for (const { segment } of segmenter().segment(text)) {
    room -= textWidth(segment);
    if (room < 0) break;
    fitting += segment;
  }
  return fitting + mark;
}

export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const { segment } of segmenter().segment(text)) {
    const add = textWidth(segment);
    if (used + add > width && line !== '') {
      const space = segment === ' ' ? -1 : line.lastIndexOf(' ');
      const at = space > width / 2 ? space + 1 : line.length;
      lines.push(line.slice(0, at).trimEnd());
      line = line.slice(at);
      used = textWidth(line);
    }
    if (line === '' && segment === ' ') continue;
    line += segment;
    used += add;
  }
  return line === '' ? lines : [...lines, line];
}

let cached: Intl.Segmenter | undefined;
function segmenter(): Intl.Segmenter {
  cached ??= new Intl.Segmenter();
  return cached;
}
