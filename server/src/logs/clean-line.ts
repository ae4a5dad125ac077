import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { colours, createHideSecrets } from './hide-secrets.ts';

const cutMark = ' […]';
/** Who splits what a program says cuts long lines at the limit, or up to a letter before it. */
const cutBytesMin = logLineBytesMax - 8;

/**
 * What a line of a log is made of: text and colours, none of the app's secrets, and not too long. Pieces of a long line
 * come one after the other from the same stream; what stands across their border is seen all the same. Not seen is what
 * an app has made something else of (base64, one letter a line), what only a terminal would put together again, and across
 * a border what is beyond the first 64 Ki letters of all secrets.
 */
export function createCleanLine(secrets: Iterable<string>): (line: string, stream?: string) => string {
  const hide = createHideSecrets(secrets, printable);
  const befores = new Map<string, string>();
  return (line, stream = '') => {
    const end = line.length * 3 >= cutBytesMin && Buffer.byteLength(line) >= cutBytesMin ? 'cut' : 'whole';
    const { text, after } = hide({ text: printable(line), before: befores.get(stream) ?? '', end });
    befores.set(stream, after);
    return cut(text);
  };
}

/** Sequences that steer a terminal: titles, cursors, modes. */
const steering =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u001b\u009b]\[?[0-9;:?<=>!]*[ -/]*[@-~]?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but the tab.
const controls = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

function printable(line: string): string {
  const last = lastWritten(line).toWellFormed();
  // Almost every line is of this kind.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
  if (!/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/.test(last)) return last;
  return last
    .split(colours)
    .map((part, at) => (at % 2 === 1 ? part : part.replace(steering, '').replace(controls, '')))
    .join('');
}

/** A bar that is drawn over and over is one line on a terminal, and here. */
function lastWritten(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}

function cut(text: string): string {
  // No letter takes more than three bytes here: what is beyond the Basic Multilingual Plane counts as two.
  if (text.length * 3 <= logLineBytesMax || Buffer.byteLength(text) <= logLineBytesMax) return text;
  const bytes = Buffer.from(text).subarray(0, logLineBytesMax - Buffer.byteLength(cutMark));
  // A letter that was cut in the middle is left out.
  return `${new TextDecoder().decode(bytes, { stream: true })}${cutMark}`;
}
