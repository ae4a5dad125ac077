import { logLineBytesMax } from '@svc/contract/deployments.ts';

/** Shorter values are found in too much that has nothing to do with them. */
const secretCharsMin = 6;
/** Values that name a mode and hide nothing: without them half of what tools say could not be read. */
const noSecrets: ReadonlySet<string> = new Set(['production', 'development', 'staging']);
const mask = '***';
const cutMark = ' […]';

/** What a line of a log is made of: text and colours, none of the app's secrets, and not too long. */
export function createCleanLine(secrets: Iterable<string>): (line: string) => string {
  const masked = formsOf(secrets);
  return (line) => {
    let text = printable(line);
    // After what can not be seen was taken out of it, and before it is cut: no half of one stays.
    for (const secret of masked) text = text.replaceAll(secret, mask);
    return cut(text);
  };
}

/** As they are, line by line where they have several, and as they look in JSON and in addresses; the longest first. */
function formsOf(secrets: Iterable<string>): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (noSecrets.has(secret)) continue;
    const lines = secret.split(/\r?\n/).map((line) => line.trim());
    for (const text of [...lines, secret.trim()])
      for (const form of [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)])
        if (form.length >= secretCharsMin) forms.add(printable(form));
  }
  return [...forms].sort((one, other) => other.length - one.length);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const colours = /(\u001b\[[0-9;:]*m)/;
/** Sequences that steer a terminal: titles, cursors, modes. */
const steering =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
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
