/** The colours that programs give their text on a terminal. */
export const ansiColors = ['red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'gray'] as const;
export type AnsiColor = (typeof ansiColors)[number];

export interface TextPart {
  text: string;
  color: AnsiColor | null;
  isBold: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for.
const colours = /\u001b\[([0-9;:]*)m/;

/** A line as it would look on a terminal: its text in parts of one look each. */
export function textParts(line: string): TextPart[] {
  if (!line.includes('\u001b')) return [{ text: line, color: null, isBold: false }];
  const parts: TextPart[] = [];
  let look: Omit<TextPart, 'text'> = { color: null, isBold: false };
  // With a group in the expression, every second piece is what stood in it.
  for (const [at, piece] of line.split(colours).entries()) {
    if (at % 2 === 1) look = lookAfter(look, piece);
    else if (piece !== '') parts.push({ text: piece, ...look });
  }
  return parts;
}

export function plainText(line: string): string {
  return textParts(line)
    .map(({ text }) => text)
    .join('');
}

const byCode: Record<number, AnsiColor> = {
  ...{ 30: 'gray', 31: 'red', 32: 'green', 33: 'yellow', 34: 'blue', 35: 'magenta', 36: 'cyan' },
  ...{ 90: 'gray', 91: 'red', 92: 'green', 93: 'yellow', 94: 'blue', 95: 'magenta', 96: 'cyan' },
};

function lookAfter(look: Omit<TextPart, 'text'>, sequence: string): Omit<TextPart, 'text'> {
  const after = { ...look };
  const codes = sequence.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(after, { color: null, isBold: false });
    else if (code === 1) after.isBold = true;
    else if (code === 22) after.isBold = false;
    else if (code === 39 || code === 37 || code === 97) after.color = null;
    // `38;5;n` and `38;2;r;g;b` name one of many: too many to be readable on both grounds.
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
    else after.color = byCode[code] ?? after.color;
  }
  return after;
}
