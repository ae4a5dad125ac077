/** A `jsonb` or `bigint` column holds numbers that a double cannot, so rows are handled as JSON text. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseLossless(text: string): unknown {
  return mayLoseDigits.test(text) ? rawJson.parse(text, keepDigits) : JSON.parse(text);
}

export function plainValues(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (rawJson.isRawJSON(value)) return plainNumber(value.rawJSON);
  if (Array.isArray(value)) return value.map(plainValues);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plainValues(part)]));
}

export type RawRow = ReadonlyMap<string, string>;

export function jsonMembers(json: string): Map<string, string> {
  const members = new Map<string, string>();
  scanObject(json, 0, json.length, (key, start, end) => members.set(key, json.slice(start, end)));
  return members;
}

export function jsonItems(json: string): string[] {
  const items: string[] = [];
  const { length } = json;
  let at = skipSpace(json, skipSpace(json, 0, length) + 1, length);
  while (at < length && json.charCodeAt(at) !== closeBracket) {
    const end = endOfValue(json, at, length);
    items.push(json.slice(at, end));
    at = skipSpace(json, end, length);
    if (json.charCodeAt(at) !== comma) break;
    at = skipSpace(json, at + 1, length);
  }
  return items;
}

export function objectText(members: Iterable<readonly [name: string, json: string]>): string {
  return `{${Array.from(members, ([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

export function withoutMembers(text: string, names: ReadonlySet<string>): string {
  if (![...names].some((name) => text.includes(name))) return text;
  const retained: string[] = [];
  let count = 0;
  const problem = scanObject(text, 0, text.length, (key, _start, end, keyStart) => {
    count++;
    if (!names.has(key)) retained.push(text.slice(keyStart, end));
  });
  return problem !== null || retained.length === count ? text : `{${retained.join(',')}}`;
}

/**
 * RFC 8259. Only the outermost level is checked: the caller validates the values. A repeated key is reported
 * each time.
 */
export function scanObject(
  text: string,
  start: number,
  end: number,
  onMember: (key: string, valueStart: number, valueEnd: number, keyStart: number) => void,
): string | null {
  let at = skipSpace(text, start, end);
  if (at >= end || text.charCodeAt(at) !== openBrace) return 'is not an object';
  at = skipSpace(text, at + 1, end);
  if (at < end && text.charCodeAt(at) === closeBrace) return nothingAfter(text, at + 1, end);
  while (at < end) {
    if (text.charCodeAt(at) !== quote) return 'lacks a key';
    const keyStart = at;
    const keyEnd = endOfString(text, at, end);
    if (keyEnd < 0) return 'has an unterminated string';
    const key = readKey(text, at, keyEnd);
    if (key === null) return 'has an invalid key';
    at = skipSpace(text, keyEnd, end);
    if (at >= end || text.charCodeAt(at) !== colon) return 'lacks a colon after a key';
    at = skipSpace(text, at + 1, end);
    const valueEnd = endOfValue(text, at, end);
    if (valueEnd <= at) return valueEnd < 0 ? 'has an unterminated value' : 'lacks a value';
    onMember(key, at, valueEnd, keyStart);
    at = skipSpace(text, valueEnd, end);
    if (at >= end) break;
    const separator = text.charCodeAt(at);
    if (separator === closeBrace) return nothingAfter(text, at + 1, end);
    if (separator !== comma) return 'lacks a comma between members';
    at = skipSpace(text, at + 1, end);
  }
  return 'is not terminated';
}

function nothingAfter(text: string, at: number, end: number): string | null {
  return skipSpace(text, at, end) < end ? 'has text after its end' : null;
}

function skipSpace(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(text.charCodeAt(at))) at++;
  return at;
}

function endOfString(text: string, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === backslash) at++;
  }
  return -1;
}

function readKey(text: string, start: number, end: number): string | null {
  for (let at = start + 1; at < end - 1; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) return decodeString(text.slice(start, end));
    if (code < 0x20) return null;
  }
  return text.slice(start + 1, end - 1);
}

function decodeString(raw: string): string | null {
  try {
    return String(JSON.parse(raw));
  } catch {
    return null;
  }
}

/** Past the value, `start` if there is none, or -1 if it does not end. */
export function endOfValue(text: string, start: number, end: number): number {
  if (start >= end) return start;
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start, end);
  if (first === openBrace || first === openBracket) return endOfNested(text, start, end);
  let at = start;
  while (at < end && !endsScalar(text.charCodeAt(at))) at++;
  return at;
}

/** Brackets are counted, not paired: parsing the value finds a wrong pair. Not recursive, so depth is no danger. */
function endOfNested(text: string, start: number, end: number): number {
  let depth = 0;
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at, end);
      if (at < 0) return -1;
      continue;
    }
    at++;
    if (code === openBrace || code === openBracket) depth++;
    else if ((code === closeBrace || code === closeBracket) && --depth === 0) return at;
  }
  return -1;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function endsScalar(code: number): boolean {
  if (code === comma || code === closeBrace || isSpace(code)) return true;
  return (
    code === quote || code === colon || code === openBrace || code === openBracket || code === closeBracket
  );
}

interface RawJson {
  rawJSON: string;
}

interface RawJsonApi {
  parse(text: string, reviver: typeof keepDigits): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}

/** TypeScript's library does not declare these yet. */
const rawJson = JSON as unknown as RawJsonApi;

const mayLoseDigits = /[0-9]{16}|[0-9][.eE]|-0/;

function keepDigits(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return rawJson.rawJSON(source);
}

function plainNumber(source: string): unknown {
  if (/^-?[0-9]+$/.test(source)) return BigInt(source);
  const number = Number(source);
  const digits = source.replace(/[eE].*$/, '').replaceAll(/[-.]|^0+|0+$/g, '').length;
  return Number.isFinite(number) && digits <= 15 ? number : source;
}
