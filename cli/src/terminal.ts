import type { Style } from './command.ts';
import type { Io } from './io.ts';
import type { Env } from './parse.ts';

/** How to lay out the result: `COLUMNS` and `NO_COLOR` are honoured, colours only go to a terminal. */
export async function styleOf(io: Io): Promise<Style> {
  const terminal = await io.isTerminal('stdout');
  const asked = Number(io.env.COLUMNS);
  const width = Number.isInteger(asked) && asked > 0 ? asked : terminal ? await io.terminalColumns() : null;
  const colour = terminal && !io.env.NO_COLOR && io.env.TERM !== 'dumb';
  return { width, colour, unicode: speaksUnicode(io.env) };
}

/** Without a word about the character set the locale is `C`, and plain ASCII is never wrong. */
export function speaksUnicode(env: Env): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return /utf-?8/i.test(locale);
}

export function bold(style: Style, text: string): string {
  return style.colour ? `\u001b[1m${text}\u001b[22m` : text;
}

export function tint(style: Style, colour: 'red' | 'green' | 'yellow' | 'dim', text: string): string {
  if (!style.colour) return text;
  const code = { red: 31, green: 32, yellow: 33, dim: 2 }[colour];
  return `\u001b[${code}m${text}\u001b[${colour === 'dim' ? 22 : 39}m`;
}

/**
 * Text from the server as one line that can not steer the terminal: control characters become visible, and
 * the marks that reverse reading direction go away.
 */
export function plain(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text
    .replace(/\r?\n/g, ' ')
    .replace(/\t/g, ' ')
    .replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}
