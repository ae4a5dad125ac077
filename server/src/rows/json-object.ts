/**
 * Reads the members of one JSON object (RFC 8259) in text[start, end) and hands out each value as it was written,
 * because JSON.parse would lose digits. Returns what is wrong, or null. Only the outermost level is judged: a value is
 * found by its brackets and quotes, and whoever uses it checks it. Members are handed out before the end is seen, and
 * a repeated key as often as it stands there.
 */
export function scanObject(
  text: string,
  start: number,
  end: number,
  onMember: (key: string, rawStart: number, rawEnd: number) => void,
): string | null {
  let at = skipSpace(text, start, end);
  if (at >= end || text.charCodeAt(at) !== openBrace) return 'is not an object';
  at = skipSpace(text, at + 1, end);
  if (at < end && text.charCodeAt(at) === closeBrace) return nothingAfter(text, at + 1, end);
  while (at < end) {
    if (text.charCodeAt(at) !== quote) return 'lacks a key';
    const keyEnd = endOfString(text, at, end);
    if (keyEnd < 0) return 'has a string that does not end';
    const key = keyOf(text, at, keyEnd);
    if (key === null) return 'has a key that is no valid string';
    at = skipSpace(text, keyEnd, end);
    if (at >= end || text.charCodeAt(at) !== colon) return 'lacks a colon after a key';
    at = skipSpace(text, at + 1, end);
    const valueEnd = endOfValue(text, at, end);
    if (valueEnd <= at) return valueEnd < 0 ? 'has a value that does not end' : 'lacks a value';
    onMember(key, at, valueEnd);
    at = skipSpace(text, valueEnd, end);
    if (at >= end) break;
    const separator = text.charCodeAt(at);
    if (separator === closeBrace) return nothingAfter(text, at + 1, end);
    if (separator !== comma) return 'lacks a comma between members';
    at = skipSpace(text, at + 1, end);
  }
  return 'does not end';
}

function nothingAfter(text: string, at: number, end: number): string | null {
  return skipSpace(text, at, end) < end ? 'is followed by something else' : null;
}

function skipSpace(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Past the closing quote, or -1. */
function endOfString(text: string, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === backslash) at++;
  }
  return -1;
}

function keyOf(text: string, start: number, end: number): string | null {
  for (let at = start + 1; at < end - 1; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) return decoded(text.slice(start, end));
    if (code < 0x20) return null;
  }
  return text.slice(start + 1, end - 1);
}

function decoded(raw: string): string | null {
  try {
    return String(JSON.parse(raw));
  } catch {
    return null;
  }
}

/** Past the value, `start` if there is none, or -1 if it does not end. */
function endOfValue(text: string, start: number, end: number): number {
  if (start >= end) return start;
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start, end);
  if (first === openBrace || first === openBracket) return endOfNested(text, start, end);
  let at = start;
  while (at < end && !endsScalar(text.charCodeAt(at))) at++;
  return at;
}

/** Brackets are counted, not paired: a wrong mate is seen when the value is parsed. No recursion, at any depth. */
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
