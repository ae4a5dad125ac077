import { logLineBytesMax } from '@svc/contract/deployments.ts';

/** Shorter values match too much unrelated text. */
const secretCharsMin = 6;
/** A shorter match at the end of a piece is likely a coincidence. */
const partialCharsMin = 3;
const nonSecrets: ReadonlySet<string> = new Set(['production', 'development', 'staging']);
const mask = '***';
/** Limits the search for secrets that are cut between two pieces, which is done character by character. */
const cutCharsMax = 64 * 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches escape sequences.
const colors = /(\u001b\[[0-9;:]*m)/;

/** Tokens of the platform: an instance gets new ones while it runs. */
const tokens = /svc(?:pat|sat|app|ren)_[0-9A-Za-z]{36}/g;

type Range = readonly [number, number];

interface Secret {
  text: string;
  borders: Uint32Array;
}

interface Piece {
  text: string;
  before: string;
  end: 'cut' | 'whole';
}

function createHideSecrets(
  values: Iterable<string>,
  printable: (text: string) => string,
): (piece: Piece) => { text: string; after: string } {
  const secrets = secretForms(values, printable);
  const cuttable = secretsForCuts(secrets);
  const contextChars = Math.max(0, (cuttable.at(-1)?.text.length ?? 0) - 1);
  return ({ text, before, end }) => {
    const parts = text.split(colors);
    // A color in the middle of a secret does not hide it from a reader.
    const plain = parts.filter((_, at) => at % 2 === 0).join('');
    const joined = before + plain;
    const found = secrets.flatMap((secret) => findRanges(joined, secret));
    if (joined.includes('svc'))
      for (const { index, 0: token } of joined.matchAll(tokens)) found.push([index, index + token.length]);
    if (end === 'cut') for (const secret of cuttable) found.push(...findPartial(joined, secret));
    const hidden = found
      .filter(([, to]) => to > before.length)
      .map(([from, to]): Range => [Math.max(0, from - before.length), to - before.length]);
    return {
      text: hidden.length === 0 ? text : maskRanges(parts, mergeRanges(hidden)),
      after: end === 'cut' && contextChars > 0 ? joined.slice(-contextChars) : '',
    };
  };
}

/** Secrets as they are, by line, in JSON and in URLs; the shortest first. */
function secretForms(values: Iterable<string>, printable: (text: string) => string): string[] {
  const forms = new Set<string>();
  for (const secret of values) {
    if (nonSecrets.has(secret)) continue;
    const lines = secret.split(/\r?\n/).map((line) => line.trim());
    for (const text of [...lines, secret.trim()])
      for (const form of [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)])
        if (form.length >= secretCharsMin) forms.add(printable(form).replaceAll(new RegExp(colors, 'g'), ''));
  }
  forms.delete('');
  return [...forms].sort((one, other) => one.length - other.length);
}

function secretsForCuts(secrets: readonly string[]): Secret[] {
  let chars = 0;
  const all = secrets.filter((text) => {
    chars += text.length;
    return chars <= cutCharsMax;
  });
  return all.map((text) => ({ text, borders: computeBorders(text) }));
}

function findRanges(text: string, secret: string): Range[] {
  const ranges: Range[] = [];
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
    ranges.push([at, at + secret.length]);
  return ranges;
}

function findPartial(text: string, { text: secret, borders }: Secret): Range[] {
  let matched = 0;
  for (let at = Math.max(0, text.length - secret.length + 1); at < text.length; at++) {
    const char = text.charCodeAt(at);
    while (matched > 0 && char !== secret.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (char === secret.charCodeAt(matched)) matched++;
  }
  return matched < partialCharsMin ? [] : [[text.length - matched, text.length]];
}

function computeBorders(secret: string): Uint32Array {
  const borders = new Uint32Array(secret.length);
  for (let at = 1, border = 0; at < secret.length; at++) {
    const char = secret.charCodeAt(at);
    while (border > 0 && char !== secret.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (char === secret.charCodeAt(border)) border++;
    borders[at] = border;
  }
  return borders;
}

function mergeRanges(ranges: Range[]): Range[] {
  const all: Range[] = [];
  for (const [from, to] of ranges.sort(([one], [other]) => one - other)) {
    const last = all.at(-1);
    if (last && from < last[1]) all[all.length - 1] = [last[0], Math.max(last[1], to)];
    else all.push([from, to]);
  }
  return all;
}

/** `parts` alternates text and colors; the ranges count only the text. */
function maskRanges(parts: readonly string[], ranges: readonly Range[]): string {
  let begins = 0;
  return parts
    .map((part, turn) => {
      if (turn % 2 === 1) return part;
      const ends = begins + part.length;
      let shown = '';
      let at = begins;
      for (const [from, to] of ranges) {
        if (to <= begins || from >= ends) continue;
        shown += part.slice(at - begins, Math.max(at, from) - begins);
        if (from >= begins) shown += mask;
        at = Math.min(to, ends);
      }
      shown += part.slice(at - begins);
      begins = ends;
      return shown;
    })
    .join('');
}

const cutMark = ' […]';
/** The runtime cuts long lines at the limit, or up to a character before it. */
const cutBytesMin = logLineBytesMax - 8;

/** Finds secrets also across pieces of a line. Not found: encoded or split secrets, and those beyond 64 Ki characters. */
export function createCleanLine(secrets: Iterable<string>): (line: string, stream?: string) => string {
  const hide = createHideSecrets(secrets, printable);
  const contexts = new Map<string, string>();
  return (line, stream = '') => {
    const end = line.length * 3 >= cutBytesMin && Buffer.byteLength(line) >= cutBytesMin ? 'cut' : 'whole';
    const { text, after } = hide({ text: printable(line), before: contexts.get(stream) ?? '', end });
    contexts.set(stream, after);
    return truncateLine(text);
  };
}

const terminalSequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches escape sequences.
  /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u001b\u009b]\[?[0-9;:?<=>!]*[ -/]*[@-~]?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but the tab.
const controls = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

function printable(line: string): string {
  const last = lastWritten(line).toWellFormed();
  // Fast path for most lines.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
  if (!/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/.test(last)) return last;
  return last
    .split(colors)
    .map((part, at) => (at % 2 === 1 ? part : part.replace(terminalSequences, '').replace(controls, '')))
    .join('');
}

/** A progress bar that redraws itself is one line. */
function lastWritten(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}

function truncateLine(text: string): string {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= logLineBytesMax || Buffer.byteLength(text) <= logLineBytesMax) return text;
  const bytes = Buffer.from(text).subarray(0, logLineBytesMax - Buffer.byteLength(cutMark));
  // `stream` drops an incomplete character.
  return `${new TextDecoder().decode(bytes, { stream: true })}${cutMark}`;
}
