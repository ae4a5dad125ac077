import type { Style } from '../command.ts';
import { plain, tint } from '../output.ts';
import type { Line } from './log-lines.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is looked for.
const colours = /(\u001b\[[0-9;:]*m)/;

/** One line for people. It is an app's own text: of what could steer a terminal, colours alone come through. */
export function lineText({ time, stream, text }: Line, style: Style): string {
  const said = text
    .split(colours)
    .map((part, at) => (at % 2 === 0 ? plain(part.replaceAll('\t', '    ')) : style.colour ? part : ''))
    .join('');
  const reset = style.colour && said.includes('\u001b') ? '\u001b[0m' : '';
  const body = stream === 'platform' ? tint(style, 'dim', said) : said;
  return `${tint(style, 'dim', `${time.slice(0, 19)}Z`)} ${body}${reset}\n`;
}
