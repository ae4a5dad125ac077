/** Shorter values are found in too much that has nothing to do with them. */
const secretCharsMin = 6;
/** So much of the beginning of one may stand at the end of a piece by chance. */
const beginningCharsMin = 3;
/** Values that name a mode and hide nothing: without them half of what tools say could not be read. */
const noSecrets: ReadonlySet<string> = new Set(['production', 'development', 'staging']);
const mask = '***';
/** Of all that are looked for across the border of two pieces together, the shortest first: it is done letter by letter. */
const acrossCharsMax = 64 * 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
export const colours = /(\u001b\[[0-9;:]*m)/;

/** Where in a text something is hidden: from, and up to. */
type Range = readonly [number, number];

interface Secret {
  text: string;
  /** For each length of its beginning, how much of that beginning stands at its own end (Knuth, Morris, Pratt). */
  borders: Uint32Array;
}

export interface Piece {
  text: string;
  /** What the pieces of the same line before it ended with. */
  before: string;
  /** `cut`: the line goes on in another piece. */
  end: 'cut' | 'whole';
}

/** Hides them in text and colours; `after` is to be given as `before` of the piece that goes on. */
export function createHideSecrets(
  values: Iterable<string>,
  printable: (text: string) => string,
): (piece: Piece) => { text: string; after: string } {
  const secrets = formsOf(values, printable);
  const across = secretsAcross(secrets);
  const keptChars = Math.max(0, (across.at(-1)?.text.length ?? 0) - 1);
  return ({ text, before, end }) => {
    const parts = text.split(colours);
    // A colour in the middle of a word hides nothing of it from who reads it.
    const plain = parts.filter((_, at) => at % 2 === 0).join('');
    const joined = before + plain;
    const found = secrets.flatMap((secret) => rangesIn(joined, secret));
    if (end === 'cut') for (const secret of across) found.push(...begunIn(joined, secret));
    const hidden = found
      .filter(([, to]) => to > before.length)
      .map(([from, to]): Range => [Math.max(0, from - before.length), to - before.length]);
    return {
      text: hidden.length === 0 ? text : without(parts, merged(hidden)),
      after: end === 'cut' && keptChars > 0 ? joined.slice(-keptChars) : '',
    };
  };
}

/** As they are, line by line where they have several, and as they look in JSON and in addresses; the shortest first. */
function formsOf(values: Iterable<string>, printable: (text: string) => string): string[] {
  const forms = new Set<string>();
  for (const secret of values) {
    if (noSecrets.has(secret)) continue;
    const lines = secret.split(/\r?\n/).map((line) => line.trim());
    for (const text of [...lines, secret.trim()])
      for (const form of [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)])
        if (form.length >= secretCharsMin)
          forms.add(printable(form).replaceAll(new RegExp(colours, 'g'), ''));
  }
  forms.delete('');
  return [...forms].sort((one, other) => one.length - other.length);
}

function secretsAcross(secrets: readonly string[]): Secret[] {
  let chars = 0;
  const all = secrets.filter((text) => {
    chars += text.length;
    return chars <= acrossCharsMax;
  });
  return all.map((text) => ({ text, borders: bordersOf(text) }));
}

function rangesIn(text: string, secret: string): Range[] {
  const ranges: Range[] = [];
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
    ranges.push([at, at + secret.length]);
  return ranges;
}

/** The beginning of one at the very end: the rest of it is in the piece that follows. */
function begunIn(text: string, { text: secret, borders }: Secret): Range[] {
  let matched = 0;
  for (let at = Math.max(0, text.length - secret.length + 1); at < text.length; at++) {
    const letter = text.charCodeAt(at);
    while (matched > 0 && letter !== secret.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (letter === secret.charCodeAt(matched)) matched++;
  }
  return matched < beginningCharsMin ? [] : [[text.length - matched, text.length]];
}

function bordersOf(secret: string): Uint32Array {
  const borders = new Uint32Array(secret.length);
  for (let at = 1, border = 0; at < secret.length; at++) {
    const letter = secret.charCodeAt(at);
    while (border > 0 && letter !== secret.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (letter === secret.charCodeAt(border)) border++;
    borders[at] = border;
  }
  return borders;
}

function merged(ranges: Range[]): Range[] {
  const all: Range[] = [];
  for (const [from, to] of ranges.sort(([one], [other]) => one - other)) {
    const last = all.at(-1);
    if (last && from < last[1]) all[all.length - 1] = [last[0], Math.max(last[1], to)];
    else all.push([from, to]);
  }
  return all;
}

/** `parts`: text and colours by turns; the ranges are of the text alone. */
function without(parts: readonly string[], ranges: readonly Range[]): string {
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
