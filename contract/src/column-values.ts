/** `detail` never repeats the value. */
import { jsonDepthMax, rowBytesMax } from './rows.ts';

export type ParsedValue = { readonly ok: true; readonly value: string } | InvalidValue;
export type InvalidValue = { readonly ok: false; readonly detail: string };

const valid = (value: string): ParsedValue => ({ ok: true, value });
const invalid = (detail: string): InvalidValue => Object.freeze({ ok: false, detail });

const hasNul = invalid('must not contain the character U+0000');
const notUnicode = invalid('must be well-formed Unicode');
const tooLong = invalid(`must be at most ${rowBytesMax} bytes`);
const notInt = invalid('must be a whole number from -2147483648 to 2147483647');
const notBigint = invalid('must be a whole number from -9223372036854775808 to 9223372036854775807');
const notFloat = invalid('must be a finite number');
const notBool = invalid('must be true or false');
const notTimestamp = invalid('must be a date and time with offset, as in 2026-01-31T09:30:00+09:00');
const yearOutOfRange = invalid('must be within the years 0001 to 9999 of UTC');
const notDate = invalid('must be a date, as in 2026-01-31');
const dateOutOfRange = invalid('must be within the years 0001 to 9999');
const notUuid = invalid('must be a UUID');
const notJson = invalid('must be valid JSON');
const notTexts = invalid('must be a list of texts, as in ["a","b"]');
const notInts = invalid('must be a list of whole numbers from -2147483648 to 2147483647, as in [1,2]');
const tooDeep = invalid(`must not be nested more than ${jsonDepthMax} deep`);
const longNumber = invalid('must not contain numbers with so many digits');

export function parseText(text: string): ParsedValue {
  if (!text.isWellFormed()) return notUnicode;
  if (text.includes('\0')) return hasNul;
  // A UTF-16 unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 > rowBytesMax && new TextEncoder().encode(text).byteLength > rowBytesMax)
    return tooLong;
  return valid(text);
}

const intPattern = /^-?(?:0|[1-9][0-9]{0,9})$/;

export function parseInt32(text: string): ParsedValue {
  if (!intPattern.test(text)) return notInt;
  const number = Number(text);
  if (number < -2147483648 || number > 2147483647) return notInt;
  return valid(text === '-0' ? '0' : text);
}

const bigintPattern = /^-?(?:0|[1-9][0-9]{0,18})$/;

export function parseInt64(text: string): ParsedValue {
  if (!bigintPattern.test(text)) return notBigint;
  const negative = text.startsWith('-');
  // Texts of equal length sort like their numbers.
  if (negative && text.length === 20 && text > '-9223372036854775808') return notBigint;
  if (!negative && text.length === 19 && text > '9223372036854775807') return notBigint;
  return valid(text === '-0' ? '0' : text);
}

const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

export function parseFloat64(text: string): ParsedValue {
  if (!numberPattern.test(text)) return notFloat;
  const number = Number(text);
  if (!Number.isFinite(number)) return notFloat;
  return valid(Object.is(number, -0) ? '-0' : String(number));
}

export function parseBool(text: string): ParsedValue {
  return text === 'true' || text === 'false' ? valid(text) : notBool;
}

const decimalPattern = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;

/** Never rounded: digits beyond the scale must be zeros. */
export function parseDecimal(text: string, digits: number, scale: number): ParsedValue {
  const [, sign = '', whole = '', fraction = ''] =
    (text.length <= decimalCharsMax && decimalPattern.exec(text)) || [];
  const rest = fraction.slice(scale);
  const isTooLong = whole !== '0' && whole.length > digits - scale;
  if (whole === '' || isTooLong || /[1-9]/.test(rest)) {
    const before = digits - scale;
    return invalid(`must be a number of at most ${before} digits before the point and ${scale} after it`);
  }
  const value = scale === 0 ? whole : `${whole}.${fraction.slice(0, scale).padEnd(scale, '0')}`;
  return valid(sign === '-' && /[1-9]/.test(value) ? `-${value}` : value);
}

const decimalCharsMax = 1_000;

/** A number of any size and scale, with all of its digits unless it has an exponent. */
export function parseExactNumber(text: string): ParsedValue {
  const isExact = text.length <= decimalCharsMax && decimalPattern.test(text);
  return isExact && /[1-9]/.test(text) ? valid(text) : parseFloat64(text);
}

export function parseEnum(text: string, values: readonly string[]): ParsedValue {
  return values.includes(text) ? valid(text) : invalid(`must be one of ${values.join(', ')}`);
}

const timestampPattern =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/;
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** What JavaScript's `toISOString` writes, for days that every month has. */
const plainTimestamp =
  /^(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?Z$/;

/** RFC 3339 only: PostgreSQL would also accept `now`, `infinity` and `01/02/2024`. */
export function parseTimestamp(text: string): ParsedValue {
  if (plainTimestamp.test(text)) return valid(text);
  const match = timestampPattern.exec(text);
  if (!match) return notTimestamp;
  const year = Number(match[1]);
  if (!isCalendarDay(year, Number(match[2]), Number(match[3]))) return notTimestamp;
  if (Number(match[4]) > 23 || Number(match[5]) > 59 || Number(match[6]) > 59) return notTimestamp;
  if (year === 0) return yearOutOfRange;
  const local = `${text.slice(0, 10)}T${text.slice(11, 19)}`;
  // Truncated: PostgreSQL would round a seventh digit, possibly into the next second.
  const fraction = match[7]?.slice(0, 7) ?? '';
  if (match[8] === undefined) return valid(`${local}${fraction}Z`);
  const hours = Number(match[9]);
  const minutes = Number(match[10]);
  if (hours > 23 || minutes > 59) return notTimestamp;
  const sign = match[8];
  if (hours > 15 || year === 1 || year === 9999) {
    return inUtc(local, fraction, (sign === '-' ? -1 : 1) * (hours * 60 + minutes));
  }
  return valid(`${local}${fraction}${sign}${match[9]}:${match[10]}`);
}

const datePattern = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/;

/** An RFC 3339 full-date only: PostgreSQL would also accept `today`, `20240203` and `Feb 3 2024`. */
export function parseDate(text: string): ParsedValue {
  const match = datePattern.exec(text);
  const year = Number(match?.[1]);
  if (!match || !isCalendarDay(year, Number(match[2]), Number(match[3]))) return notDate;
  return year === 0 ? dateOutOfRange : valid(text);
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  const isLeapDay = month === 2 && day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && (day <= (daysOfMonth[month - 1] ?? 0) || isLeapDay);
}

/** Converts offsets that PostgreSQL does not read (16 hours and more), and for years that the offset may change. */
function inUtc(local: string, fraction: string, offsetMinutes: number): ParsedValue {
  const utc = new Date(Date.parse(`${local}Z`) - offsetMinutes * 60_000);
  const year = utc.getUTCFullYear();
  if (year < 1 || year > 9999) return yearOutOfRange;
  return valid(`${utc.toISOString().slice(0, 19)}${fraction}Z`);
}

/** JSON source, from `lastIndex`, of common values that are stored as they are written. Others are checked by `parse…`. */
export const plainSources = {
  text: /"[ !#-[\]-\ud7ff\ue000-\uffff]*"/y,
  int32: /0|-?[1-9][0-9]{0,8}/y,
  int64: /0|-?[1-9][0-9]{0,14}/y,
  float64: /-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,5}[1-9]|0|-?[1-9][0-9]{0,8}/y,
  bool: /true|false/y,
  timestamp: new RegExp(plainTimestamp.source.replace('^', '"').replace('$', '"'), 'y'),
  uuid: /"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"/y,
} as const;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const bareUuidPattern = /^[0-9a-f]{32}$/;

export function parseUuid(text: string): ParsedValue {
  // 38: dashes and braces. Longer ones need no lower-casing to be invalid.
  if (text.length > 38) return notUuid;
  const lower = text.toLowerCase();
  if (uuidPattern.test(lower)) return valid(lower);
  const inner = lower.startsWith('{') && lower.endsWith('}') ? lower.slice(1, -1) : lower;
  if (uuidPattern.test(inner)) return valid(inner);
  if (!bareUuidPattern.test(inner)) return notUuid;
  return valid(
    `${inner.slice(0, 8)}-${inner.slice(8, 12)}-${inner.slice(12, 16)}-${inner.slice(16, 20)}-${inner.slice(20)}`,
  );
}

/** Returns the text itself: PostgreSQL stores numbers of any length, which a JavaScript round trip would not keep. */
export function parseJson(raw: string): ParsedValue {
  if (!raw.isWellFormed()) return notUnicode;
  if (needsScan(raw)) {
    const refusal = jsonError(raw);
    if (refusal) return refusal;
  }
  try {
    JSON.parse(raw);
  } catch {
    return notJson;
  }
  return valid(raw);
}

/** The array as PostgreSQL reads it. */
export function parseTexts(raw: string): ParsedValue {
  const json = parseJson(raw);
  if (!json.ok) return json;
  const items: unknown = JSON.parse(raw);
  if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) return notTexts;
  for (const item of items) {
    const text = parseText(item);
    if (!text.ok) return text;
  }
  return valid(arrayText(items));
}

export function parseInts(raw: string): ParsedValue {
  const inner = /^\s*\[([\s0-9,-]*)\]\s*$/.exec(raw)?.[1]?.trim();
  if (inner === undefined) return notInts;
  if (inner === '') return valid('{}');
  const items: string[] = [];
  for (const item of inner.split(',')) {
    const number = parseInt32(item.trim());
    if (!number.ok) return notInts;
    items.push(number.value);
  }
  return valid(`{${items.join(',')}}`);
}

export function arrayText(items: readonly (string | null)[]): string {
  return `{${items.map((item) => (item === null ? 'NULL' : `"${item.replace(/[\\"]/g, '\\$&')}"`)).join(',')}}`;
}

/** `array` has the form that `parseTexts` and `parseInts` write. */
export function countItems(array: string): number {
  if (array === '{}') return 0;
  return array.replace(/"(?:[^"\\]|\\.)*"/gs, '').split(',').length;
}

/** In microseconds since 1970. */
export function timestampMicros(text: string): bigint {
  const fraction = /\.([0-9]+)/.exec(text)?.[1] ?? '';
  const seconds = Date.parse(text.replace(/\.[0-9]+/, ''));
  return BigInt(seconds) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

/** PostgreSQL writes every zero of an exponent out: a row of many `1e400` must not be read back as gigabytes. */
const exponentMax = 400;
const zerosMax = rowBytesMax;
const numberCharsMax = 1_000;
const bigExponent = /[0-9][eE][+-]?[0-9]{3}/;

function needsScan(raw: string): boolean {
  return raw.length > 2 * jsonDepthMax || raw.includes('\\') || bigExponent.test(raw);
}

/** Runs before JSON.parse, which could overflow the stack, and finds what JSON.parse accepts but PostgreSQL does not. */
function jsonError(raw: string): InvalidValue | null {
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

function endOfString(raw: string, start: number): number | InvalidValue {
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

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const letterU = 0x75;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;
