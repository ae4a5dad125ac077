import { widthOf, wrap } from './text-width.ts';

export interface FieldLayout {
  nameWidth: number;
  width: number;
  bold: (text: string) => string;
}

/** `name  value` lines within a width: long values go on below themselves, or below their name where it is narrow. */
export function fieldLines(fields: readonly { name: string; value: string }[], layout: FieldLayout): string {
  const { nameWidth, width, bold } = layout;
  const room = width - nameWidth - 2;
  const hang = `\n${' '.repeat(nameWidth + 2)}`;
  let text = '';
  for (const { name, value } of fields) {
    if (widthOf(value) <= room || room >= 20) {
      text += `${bold(name.padEnd(nameWidth))}  ${wrap(value, room).join(hang)}\n`;
    } else {
      const below = wrap(value, Math.max(10, width - 2)).map((line) => `  ${line}\n`);
      text += `${bold(name)}\n${below.join('')}`;
    }
  }
  return text;
}
