/**
 * JSON whose numbers keep every digit: what a double can not hold stays the text it was, through `JSON.stringify` too.
 * A `jsonb` column holds numbers of any length.
 */
export function parseExact(text: string): unknown {
  return risky.test(text) ? exact.parse(text, keepDigits) : JSON.parse(text);
}

/** As plain values for a writer that does not know raw JSON; a number that is none of its own becomes text. */
export function plainValues(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (exact.isRawJSON(value)) return plainNumber(value.rawJSON);
  if (Array.isArray(value)) return value.map(plainValues);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plainValues(part)]));
}

/** The object without some of its members, the rest to the letter as it was; what is no object comes back as it is. */
export function withoutMembers(text: string, names: ReadonlySet<string>): string {
  if (![...names].some((name) => text.includes(name))) return text;
  const members = membersOf(text);
  if (members === null) return text;
  const kept = members.filter(({ name }) => !names.has(name));
  if (kept.length === members.length) return text;
  return `{${kept.map(({ start, end }) => text.slice(start, end)).join(',')}}`;
}

interface RawJson {
  rawJSON: string;
}

interface ExactJson {
  parse(text: string, reviver: typeof keepDigits): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}

/** Newer than the types that the compiler knows. */
const exact = JSON as unknown as ExactJson;

/** What may hold such a number: many digits, a fraction, an exponent, a negative zero. */
const risky = /[0-9]{16}|[0-9][.eE]|-0/;

function keepDigits(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return exact.rawJSON(source);
}

function plainNumber(source: string): unknown {
  if (/^-?[0-9]+$/.test(source)) return BigInt(source);
  const number = Number(source);
  const digits = source.replace(/[eE].*$/, '').replaceAll(/[-.]|^0+|0+$/g, '').length;
  return Number.isFinite(number) && digits <= 15 ? number : source;
}

interface Member {
  name: string;
  start: number;
  end: number;
}

/** The members of the outermost object, or null where the text is not one. */
function membersOf(text: string): Member[] | null {
  const members: Member[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return null;
  at = skipSpace(text, at + 1);
  while (text[at] === '"') {
    const start = at;
    const nameEnd = endOfString(text, at);
    at = skipSpace(text, nameEnd);
    if (text[at] !== ':') return null;
    const end = endOfValue(text, skipSpace(text, at + 1));
    const name = parseName(text.slice(start, nameEnd));
    if (name === null) return null;
    members.push({ name, start, end });
    at = skipSpace(text, end);
    if (text[at] !== ',') break;
    at = skipSpace(text, at + 1);
  }
  return text[at] === '}' && skipSpace(text, at + 1) === text.length ? members : null;
}

function parseName(text: string): string | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']' || char === ',') {
      if (depth === 0) return at;
      if (char !== ',') depth -= 1;
    }
  }
  return text.length;
}

/** The place behind the closing quote. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '"') return at + 1;
    if (text[at] === '\\') at += 1;
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text[at] ?? '')) at += 1;
  return at;
}
