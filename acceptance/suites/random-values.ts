import type { Random } from '../support/random.ts';
import type { ColumnType } from '../support/rows.ts';

/**
 * A value of a row as the model stores it: text, uuid: string; int, float: number; bigint: bigint; bool: boolean;
 * timestamptz: microseconds since 1970 as bigint; jsonb and lists: the result of JSON.parse; date, enum: string; decimal:
 * hundredths as bigint.
 */
export type Value = string | number | bigint | boolean | Json;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const pieces = [
  '',
  'a',
  'A',
  'b',
  'ab',
  'Ab',
  'z',
  '1',
  '9',
  '10',
  ' ',
  '%',
  '_',
  '*',
  '\\',
  '"',
  "'",
  ',',
  '(',
  ')',
  '.',
  ':',
  '&',
  '=',
  '+',
  '#',
  '/',
  '?',
  '\n',
  '\t',
  '\u0001',
  '\u007f',
  'ä',
  'Ä',
  'ß',
  'ẞ',
  'É',
  'e\u0301',
  'İ',
  'ı',
  'I',
  'i',
  'Σ',
  'σ',
  'ς',
  'Ǆ',
  'ǅ',
  'ǆ',
  'Ω',
  'ω',
  'Ж',
  'ж',
  '日',
  '本',
  '\ufffd',
  '\uffff',
  '\ud7ff',
  '😀',
  '𐐀',
  '𐐨',
  '\u{10ffff}',
  'eq.',
  'not.',
  'null',
  'or(',
  '$1',
  '--',
  ';',
  '\u2028',
  '\u200f',
] as const;

const make: Record<ColumnType, (random: Random) => Value> = {
  text: (random) => random.times(random.below(4), () => random.pick(pieces)).join(''),
  int: (random) => random.pick([0, 1, -1, 2, 3, 7, 100, 2147483647, -2147483648, random.below(1000)]),
  bigint: (random) =>
    random.pick([0n, 1n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), -(2n ** 53n) - 1n]) +
    random.pick([0n, 0n, 0n, 2n ** 61n, -(2n ** 61n), BigInt(random.below(5))]),
  float: (random) =>
    random.pick([0, -0, 1.5, -1.5, 0.1, 1e300, -1e300, 5e-324, 1e-7, 1e15, 1e16, 1e21, 123456.789, 2 ** 53]) *
    random.pick([1, 1, 1, -1]),
  bool: (random) => random.chance(0.5),
  timestamptz: (random) => {
    const days = random.pick([0, 0, 1, 20_000, 20_001, -719_000, 2_932_000, -1, 19_782]);
    const seconds = random.pick([0, 0, 1, 86_399, 43_200, random.below(86_400)]);
    return BigInt(days * 86_400 + seconds) * 1_000_000n + random.pick([0n, 0n, 1n, 999_999n, 500_000n, 120n]);
  },
  uuid: (random) => {
    const hex = random.pick(['0', 'f', '7', 'a', '8', '00000001', 'deadbeef', 'c0ffee11']);
    const digits = hex.repeat(32).slice(0, 31) + random.pick(['0', '1', 'f']);
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  },
  jsonb: (random) => makeJson(random, 2) ?? {},
  date: (random) => random.pick(['0001-01-01', '1999-12-31', '2024-02-29', '2026-01-31', '9999-12-31']),
  'decimal(12,2)': (random) =>
    random.pick([0n, 1n, -1n, 50n, 99n, 100n, 150n, 10n ** 12n - 1n, -(10n ** 12n) + 1n]) *
    random.pick([1n, 1n, -1n]),
  'enum(open,in work,ä)': (random) => random.pick(['open', 'in work', 'ä']),
  'text[]': (random) =>
    random.times(random.below(4), () => random.pick([random.pick(pieces), 'a', 'b', 'NULL', '{', '}'])),
  'int[]': (random) => random.times(random.below(4), () => random.pick([0, 1, 2, 3, -1, 2147483647])),
};

function makeJson(random: Random, depth: number): Json {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return random.chance(0.5);
    case 1:
    case 2:
      return random.pick([0, 1, -1, 1.5, 9, 10, 1000, 1e-3]);
    case 3:
      return random.pick(['', 'a', 'b', 'aa', 'k', 'ä', '😀', '\ufffd', '"q"', '\\', '1']);
    case 4:
      return random.chance(0.3) ? null : random.pick([true, 2, 'k']);
    case 5:
    case 6:
      return Object.fromEntries(
        random.times(random.below(4), () => [
          random.pick(['a', 'b', 'aa', 'k', 'ä', '', 'x y']),
          makeJson(random, depth - 1),
        ]),
      );
    default:
      return random.times(random.below(4), () => makeJson(random, depth - 1));
  }
}

export function makeValue(type: ColumnType, random: Random): Value {
  const value = make[type](random);
  return type === 'jsonb' ? canonical(value as Json) : value;
}

/** One of the ways in which a URL may spell the value. */
export function urlText(type: ColumnType, value: Value, random: Random): string {
  switch (type) {
    case 'float':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'timestamptz':
      return timeText(value as bigint, random);
    case 'uuid':
      return uuidText(value as string, random);
    case 'jsonb':
      return JSON.stringify(value, null, random.pick([0, 0, 1])).replaceAll('\n', ' ');
    case 'decimal(12,2)':
      return random.pick([decimalText(value as bigint), `${decimalText(value as bigint)}0`]);
    case 'text[]':
    case 'int[]':
      return listText(value as (string | number)[], random);
    default:
      return String(value);
  }
}

/** One of the ways in which a body may spell the value. */
export function jsonText(type: ColumnType, value: Value | null, random: Random): string {
  if (value === null) return 'null';
  switch (type) {
    case 'int':
    case 'float':
    case 'bool':
    case 'jsonb':
      return urlText(type, value, random);
    case 'text[]':
    case 'int[]':
      return JSON.stringify(value, null, random.pick([0, 0, 1])).replaceAll('\n', ' ');
    case 'decimal(12,2)': {
      const text = urlText(type, value, random);
      return random.chance(0.5) ? text : `"${text}"`;
    }
    case 'bigint':
      return random.chance(0.5) ? String(value) : `"${value}"`;
    default:
      return JSON.stringify(urlText(type, value, random));
  }
}

/** The value as returned, after JSON.parse. */
export function toAnswerValue(type: ColumnType, value: Value | null): Json {
  if (type === 'bigint' && typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  if (type === 'timestamptz' && typeof value === 'bigint') return utc(value);
  if (type === 'decimal(12,2)' && typeof value === 'bigint') return decimalText(value);
  return value as Json;
}

function decimalText(hundredths: bigint): string {
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0');
  return `${hundredths < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** As JSON, or as `(a,"b,c")`. */
function listText(items: readonly (string | number)[], random: Random): string {
  if (random.chance(0.5)) return JSON.stringify(items);
  return `(${items.map((item) => `"${String(item).replace(/["\\]/g, '\\$&')}"`).join(',')})`;
}

/** `2026-01-02T03:04:05.6Z`, without zeros at the end of the fraction. */
function utc(micros: bigint): string {
  const seconds = floorDiv(micros, 1_000_000n);
  const fraction = String(micros - seconds * 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${dateText(seconds)}${fraction === '' ? '' : `.${fraction}`}Z`;
}

export function microsOf(text: string): bigint {
  const [, whole, fraction = ''] = /^(.{19})(?:\.(\d+))?Z$/.exec(text)!;
  return BigInt(Date.parse(`${whole}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}

const dateText = (seconds: bigint) => new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
const floorDiv = (a: bigint, b: bigint) => (a - (((a % b) + b) % b)) / b;

function timeText(micros: bigint, random: Random): string {
  const offset = random.pick([0, 0, 540, -210, 15 * 60, -15 * 60 - 59, 23 * 60 + 59]);
  const seconds = floorDiv(micros, 1_000_000n);
  const rest = String(micros - seconds * 1_000_000n).padStart(6, '0');
  // A seventh digit is cut, not rounded.
  const fraction =
    rest === '000000' && random.chance(0.5) ? '' : `.${rest}${random.pick(['', '', '9', '0000'])}`;
  const local = dateText(seconds + BigInt(offset * 60)).replace('T', random.pick(['T', 't']));
  const sign = offset < 0 ? '-' : '+';
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const two = (number: number) => String(number).padStart(2, '0');
  const zone = offset === 0 ? random.pick(['Z', 'z', '+00:00']) : `${sign}${two(hours)}:${two(minutes)}`;
  return `${local}${fraction}${zone}`;
}

function uuidText(uuid: string, random: Random): string {
  return random.pick([uuid, uuid, uuid.toUpperCase(), `{${uuid}}`, uuid.replaceAll('-', '')]);
}

/** jsonb sorts keys by length, then by bytes. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== 'object') return value;
  const keys = Object.keys(value).sort(compareKeys);
  return Object.fromEntries(keys.map((key) => [key, canonical(value[key]!)]));
}

export function compareKeys(a: string, b: string): number {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length - other.length || Buffer.compare(one, other);
}
