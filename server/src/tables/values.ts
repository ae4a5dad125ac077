import type { ColumnType } from '@svc/contract/columns.ts';
import { jsonDepthMax, rowBytesMax } from '@svc/contract/rows.ts';

/** `value` is bound as a text parameter and cast to the column's type; `detail` never repeats what was sent. */
export type Checked = { readonly ok: true; readonly value: string } | Refused;
/** SQL NULL is `value: null`. */
export type CheckedJson = { readonly ok: true; readonly value: string | null } | Refused;
export type Refused = { readonly ok: false; readonly detail: string };

/** The default of a column, or any other value that is written without quotes. */
export function fromText(type: ColumnType, text: string): Checked {
  return readText[type](text);
}

/** A value in a query string, where the `+` of an offset that nobody encoded has become a space. */
export function fromUrl(type: ColumnType, text: string): Checked {
  return fromText(type, type === 'timestamptz' ? text.replace(spaceBeforeOffset, '+') : text);
}

/** `raw` is the exact JSON source of one value, so that no digit of a number is lost on the way. */
export function fromJson(type: ColumnType, raw: string): CheckedJson {
  return raw === 'null' ? sqlNull : readJson[type](raw);
}

const readText: Record<ColumnType, (text: string) => Checked> = {
  text: checkText,
  int: checkInt,
  bigint: checkBigint,
  float: checkFloat,
  bool: checkBool,
  timestamptz: checkTimestamp,
  uuid: checkUuid,
  jsonb: checkJsonb,
};

const readJson: Record<ColumnType, (raw: string) => Checked> = {
  ...readText,
  text: (raw) => inString(raw, checkText, notText),
  // A number beyond 2^53 survives few JSON writers, hence the string.
  bigint: (raw) => (isString(raw) ? inString(raw, checkBigint, notBigint) : checkBigint(raw)),
  timestamptz: (raw) => inString(raw, checkTimestamp, notTimestamp),
  uuid: (raw) => inString(raw, checkUuid, notUuid),
};

const sqlNull: CheckedJson = Object.freeze({ ok: true, value: null });
const accepted = (value: string): Checked => ({ ok: true, value });
const refused = (detail: string): Refused => Object.freeze({ ok: false, detail });

const notText = refused('must be a string');
const hasNul = refused('must not contain the character U+0000');
const notUnicode = refused('must be well-formed Unicode');
const tooLong = refused(`must be at most ${rowBytesMax} bytes`);
const notInt = refused('must be a whole number from -2147483648 to 2147483647');
const notBigint = refused('must be a whole number from -9223372036854775808 to 9223372036854775807');
const notFloat = refused('must be a finite number');
const notBool = refused('must be true or false');
const notTimestamp = refused('must be a date and time with offset, as in 2026-01-31T09:30:00+09:00');
const outOfTime = refused('must be within the years 0001 to 9999 of UTC');
const notUuid = refused('must be a UUID');
const notJson = refused('must be valid JSON');
const tooDeep = refused(`must not be nested deeper than ${jsonDepthMax}`);
const longNumber = refused('must not hold numbers of so many digits');

function checkText(text: string): Checked {
  if (!text.isWellFormed()) return notUnicode;
  if (text.includes('\0')) return hasNul;
  // A UTF-16 unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 > rowBytesMax && Buffer.byteLength(text) > rowBytesMax) return tooLong;
  return accepted(text);
}

const intPattern = /^-?(?:0|[1-9][0-9]{0,9})$/;

function checkInt(text: string): Checked {
  if (!intPattern.test(text)) return notInt;
  const number = Number(text);
  if (number < -2147483648 || number > 2147483647) return notInt;
  return accepted(text === '-0' ? '0' : text);
}

const bigintPattern = /^-?(?:0|[1-9][0-9]{0,18})$/;

function checkBigint(text: string): Checked {
  if (!bigintPattern.test(text)) return notBigint;
  const negative = text.startsWith('-');
  // Of equal length, so that the order of the text is that of the numbers.
  if (negative && text.length === 20 && text > '-9223372036854775808') return notBigint;
  if (!negative && text.length === 19 && text > '9223372036854775807') return notBigint;
  return accepted(text === '-0' ? '0' : text);
}

const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

function checkFloat(text: string): Checked {
  if (!numberPattern.test(text)) return notFloat;
  const number = Number(text);
  if (!Number.isFinite(number)) return notFloat;
  return accepted(Object.is(number, -0) ? '-0' : String(number));
}

function checkBool(text: string): Checked {
  return text === 'true' || text === 'false' ? accepted(text) : notBool;
}

const timestampPattern =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/;
const spaceBeforeOffset = / (?=[0-9]{2}:[0-9]{2}$)/;
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** RFC 3339 and nothing else: PostgreSQL would also take `now`, `infinity` and `01/02/2024`. */
function checkTimestamp(text: string): Checked {
  const match = timestampPattern.exec(text);
  if (!match) return notTimestamp;
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const leapDay = month === 2 && day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (day === 0 || !(day <= (daysOfMonth[month - 1] ?? 0) || leapDay)) return notTimestamp;
  if (Number(match[4]) > 23 || Number(match[5]) > 59 || Number(match[6]) > 59) return notTimestamp;
  if (year === 0) return outOfTime;
  const local = `${text.slice(0, 10)}T${text.slice(11, 19)}`;
  // Cut, since PostgreSQL would round a seventh digit, into the next second if need be.
  const fraction = match[7]?.slice(0, 7) ?? '';
  if (match[8] === undefined) return accepted(`${local}${fraction}Z`);
  const hours = Number(match[9]);
  const minutes = Number(match[10]);
  if (hours > 23 || minutes > 59) return notTimestamp;
  const sign = match[8];
  if (hours > 15 || year === 1 || year === 9999) {
    return inUtc(local, fraction, (sign === '-' ? -1 : 1) * (hours * 60 + minutes));
  }
  return accepted(`${local}${fraction}${sign}${match[9]}:${match[10]}`);
}

/** For offsets that PostgreSQL does not read (16 hours and more), and for years that the offset may leave. */
function inUtc(local: string, fraction: string, offsetMinutes: number): Checked {
  const utc = new Date(Date.parse(`${local}Z`) - offsetMinutes * 60_000);
  const year = utc.getUTCFullYear();
  if (year < 1 || year > 9999) return outOfTime;
  return accepted(`${utc.toISOString().slice(0, 19)}${fraction}Z`);
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const bareUuidPattern = /^[0-9a-f]{32}$/;

function checkUuid(text: string): Checked {
  // 38: dashes and braces. Longer ones need no lower-casing to be refused.
  if (text.length > 38) return notUuid;
  const lower = text.toLowerCase();
  if (uuidPattern.test(lower)) return accepted(lower);
  const inner = lower.startsWith('{') && lower.endsWith('}') ? lower.slice(1, -1) : lower;
  if (uuidPattern.test(inner)) return accepted(inner);
  if (!bareUuidPattern.test(inner)) return notUuid;
  return accepted(
    `${inner.slice(0, 8)}-${inner.slice(8, 12)}-${inner.slice(12, 16)}-${inner.slice(16, 20)}-${inner.slice(20)}`,
  );
}

/** The text itself is bound: PostgreSQL keeps numbers of any length, which a round trip through ours would not. */
function checkJsonb(raw: string): Checked {
  if (!raw.isWellFormed()) return notUnicode;
  if (needsScan(raw)) {
    const refusal = jsonbRefusal(raw);
    if (refusal) return refusal;
  }
  try {
    JSON.parse(raw);
  } catch {
    return notJson;
  }
  return accepted(raw);
}

/** PostgreSQL holds more, but writes every zero out: a row of many `1e400` must not be read back as gigabytes. */
const exponentMax = 400;
const zerosMax = rowBytesMax;
const numberCharsMax = 1_000;
const bigExponent = /[0-9][eE][+-]?[0-9]{3}/;

/** Every bracket needs its mate, so that a text this short is not too deep. */
function needsScan(raw: string): boolean {
  return raw.length > 2 * jsonDepthMax || raw.includes('\\') || bigExponent.test(raw);
}

/** Before JSON.parse, which may overflow the stack, and for what it takes but PostgreSQL does not. */
function jsonbRefusal(raw: string): Refused | null {
  let depth = 0;
  let zeros = 0;
  for (let at = 0; at < raw.length; at++) {
    const code = raw.charCodeAt(at);
    if (code === quote) {
      const end = endOfString(raw, at);
      if (typeof end !== 'number') return end;
      at = end;
    } else if (code === openBracket || code === openBrace) {
      if (++depth > jsonDepthMax) return tooDeep;
    } else if (code === closeBracket || code === closeBrace) {
      depth--;
    } else if (isDigit(code)) {
      const end = endOfNumber(raw, at);
      const exponent = exponentOf(raw.slice(at, end));
      zeros += exponent;
      if (end - at > numberCharsMax || exponent > exponentMax || zeros > zerosMax) return longNumber;
      at = end - 1;
    }
  }
  return null;
}

/** The place of the closing quote. An escape may spell what the text itself may not hold. */
function endOfString(raw: string, start: number): number | Refused {
  let at = start + 1;
  while (at < raw.length) {
    const code = raw.charCodeAt(at);
    if (code === quote) return at;
    if (code !== backslash) {
      at++;
      continue;
    }
    const unit = escapedUnit(raw, at);
    if (unit === 0) return hasNul;
    if (unit >= 0xdc00 && unit <= 0xdfff) return notUnicode;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const low = escapedUnit(raw, at + 6);
      if (!(low >= 0xdc00 && low <= 0xdfff)) return notUnicode;
      at += 12;
    } else {
      at += 2;
    }
  }
  return notJson;
}

/** The value of a `\uXXXX` at this place, else -1 or NaN, which no range holds. */
function escapedUnit(raw: string, at: number): number {
  if (raw.charCodeAt(at) !== backslash || raw.charCodeAt(at + 1) !== letterU) return -1;
  return Number.parseInt(raw.slice(at + 2, at + 6), 16);
}

function endOfNumber(raw: string, start: number): number {
  let at = start + 1;
  while (at < raw.length && (isDigit(raw.charCodeAt(at)) || '+-.eE'.includes(raw.charAt(at)))) at++;
  return at;
}

function exponentOf(number: string): number {
  const at = Math.max(number.indexOf('e'), number.indexOf('E'));
  return at < 0 ? 0 : Math.abs(Number(number.slice(at + 1)));
}

function isString(raw: string): boolean {
  return raw.length >= 2 && raw.charCodeAt(0) === quote && raw.charCodeAt(raw.length - 1) === quote;
}

function inString(raw: string, check: (text: string) => Checked, otherwise: Refused): Checked {
  if (!isString(raw)) return otherwise;
  let text: unknown;
  try {
    text = JSON.parse(raw);
  } catch {
    return notJson;
  }
  return typeof text === 'string' ? check(text) : otherwise;
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const letterU = 0x75;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;
