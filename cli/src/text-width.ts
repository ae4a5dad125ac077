import type { Style } from './command.ts';

/** Columns that a text takes on a terminal; wide characters and emoji take two. */
export function widthOf(text: string): number {
  return Bun.stringWidth(text);
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Cuts between what people see as characters, never inside an emoji. */
export function cut(text: string, width: number, style: Style): string {
  if (widthOf(text) <= width) return text;
  const mark = style.unicode ? '…' : '...';
  let taken = '';
  let room = Math.max(0, width - mark.length);
  for (const { segment } of segmenter().segment(text)) {
    room -= widthOf(segment);
    if (room < 0) break;
    taken += segment;
  }
  return taken + mark;
}

/** Lines of at most `width`, broken after a space in their second half where there is one. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const { segment } of segmenter().segment(text)) {
    const add = widthOf(segment);
    if (used + add > width && line !== '') {
      const space = segment === ' ' ? -1 : line.lastIndexOf(' ');
      const at = space > width / 2 ? space + 1 : line.length;
      lines.push(line.slice(0, at).trimEnd());
      line = line.slice(at);
      used = widthOf(line);
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
