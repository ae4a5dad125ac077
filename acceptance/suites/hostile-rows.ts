import type { Random } from '../support/random.ts';
import type { ColumnType } from '../support/rows.ts';
import { makeValue, type Value } from './random-values.ts';

/** Markers in everything that a user sends here; none may appear in the text of a statement. */
export const marks = {
  text: 'nonceq7x',
  int: '1731177317',
  bigint: '7311773117731177',
  uuid: 'facefeed-7311-7731-8773-117731177311',
  year: '7317-11-',
} as const;

export const allMarks: readonly string[] = Object.values(marks);

const pieces = [
  '%',
  '%0',
  '%00',
  '%ff',
  '%c3%28',
  '%ed%a0%80',
  '%E0%A4',
  '%f0%9f%98%80',
  '%2C',
  '%22',
  '%5C',
  '%0a',
  '+',
  '&',
  '=',
  '&&',
  '&=',
  '.',
  ',',
  '(',
  ')',
  '((',
  '))',
  '"',
  '\\',
  "'",
  ';',
  '--',
  '/*',
  '$1',
  '::text',
  ':',
  '-',
  'eq.',
  'neq.',
  'in.(',
  'not.',
  'not.not.',
  'is.null',
  'is.',
  'like.',
  'ilike.%25',
  'between.(',
  'cs.',
  'hk.',
  'or=(',
  'and=(',
  'not.or=(',
  'filter=',
  'select=',
  'sort=',
  'sort=-',
  'page=',
  'per_page=',
  'cursor=',
  'distinct=',
  '_distinct=',
  'having=',
  'search=',
  '_search=',
  'snapshot=true',
  'max_affected=',
  'parts=is.null',
  'parts.limit=',
  'maker.',
  'maker(',
  'parts(*)',
  '(*)',
  '()',
  '!',
  '!inner',
  '!left',
  '!maker',
  '*',
  'count()',
  '.sum()',
  '.month(Europe/Berlin)',
  '.hour(',
  '-"',
  ' or ',
  'count=',
  '0',
  '-1',
  '1e400',
  '1e9',
  '99999999999999999999',
  'NaN',
  'null',
  'true',
  'infinity',
  'now()',
  '[]',
  '{}',
  '__proto__',
  '1731177317',
  'nonceq7x',
  'x',
  '\u00e4',
  '\u{1f600}',
] as const;

/** One to a few changes to a text, of the kinds that parsers stumble over. */
export function mutateText(random: Random, text: string): string {
  let changed = text;
  const changes = random.pick([1, 1, 1, 2, 3, 8]);
  for (let i = 0; i < changes; i++) changed = mutate(random, changed);
  return changed;
}

function mutate(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const to = Math.min(text.length, at + random.pick([1, 1, 2, 5, 20]));
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at) + text.slice(to);
    case 1:
      return text.slice(0, to) + text.slice(at);
    case 2:
      return text.slice(0, at) + random.pick(pieces).repeat(random.pick([1, 1, 1, 2, 40])) + text.slice(at);
    case 3:
      return text.slice(0, at) + randomByte(random) + text.slice(to);
    case 4:
      return text.slice(0, at);
    case 5: {
      const parts = text.split('&');
      return random.some([...parts, random.pick(parts)], parts.length + 1).join('&');
    }
    default:
      return text.slice(0, at) + random.pick(pieces) + text.slice(to);
  }
}

const randomByte = (random: Random) => `%${random.below(256).toString(16).padStart(2, '0')}`;

export function randomBytes(random: Random): string {
  return random.times(1 + random.below(60), () => randomByte(random)).join('');
}

const names = [
  'a',
  'note_nonceq7x',
  'id',
  'created_at',
  'owner',
  'select',
  'or',
  'xmin',
  'A',
  '_x',
  'x y',
  'x"y',
  "x'y",
  '',
  'n'.repeat(63),
  'n'.repeat(64),
  '\u00fc',
  '__proto__',
  'constructor',
  'a.b',
  'a:b',
  '1a',
  'a\u0000',
  'nonceq7x',
] as const;
const types = [
  'text',
  'int',
  'bigint',
  'float',
  'bool',
  'timestamptz',
  'uuid',
  'jsonb',
  'text',
  'int',
  'jsonb',
  'varchar',
  'TEXT',
  'text[]',
  'int[]',
  'autonumber',
  'decimal(12,2)',
  'decimal(2,12)',
  'decimal(12,2,min=-1)',
  'enum(nonceq7x,b)',
  "enum('),(drop)",
  'text(min_length=1,pattern="^nonceq7x")',
  'text(pattern="(a+)+$")',
  'text(pattern="\'); drop table x")',
  'int(min=0)',
  'int(',
  '',
  'int; drop table x',
  'serial',
  'nonceq7x',
] as const;
const defaults = [
  'nonceq7x',
  "nonceq7x'; drop table users; --",
  '$nonceq7x$',
  "'nonceq7x'",
  '"nonceq7x"',
  'now()',
  'gen_random_uuid()',
  '1731177317',
  '7311773117731177',
  '-0',
  '1e5',
  '1e400',
  'NaN',
  'true',
  'yes',
  '7317-11-01T00:00:00Z',
  'yesterday',
  'facefeed-7311-7731-8773-117731177311',
  '{"nonceq7x":["nonceq7x"]}',
  '[',
  'null',
  '',
  '\u0000',
  'a:b:c',
  'nullable',
  'current_user',
  "E'\\\\nonceq7x'",
  '\u{1f600}nonceq7x',
  'x'.repeat(9_000),
  '{',
  '1731177317.5',
  'pg_sleep(9)',
] as const;

const fitting: Readonly<Record<string, string>> = {
  text: "nonceq7x'; drop table users; --",
  int: '1731177317',
  bigint: '7311773117731177',
  float: '1731177317.5',
  bool: 'true',
  timestamptz: '7317-11-01T00:00:00Z',
  uuid: 'facefeed-7311-7731-8773-117731177311',
  jsonb: '{"nonceq7x":["nonceq7x"]}',
};

/** A column as people write it, rightly and wrongly. */
export function randomColumnSpec(random: Random): unknown {
  const name = random.chance(0.5) ? `c_${random.below(1_000_000)}` : random.pick(names);
  const type = random.chance(0.5) ? random.pick(types.slice(0, 8)) : random.pick(types);
  const value = random.chance(0.5) ? (fitting[type] ?? '') : random.pick(defaults);
  const spec = random.pick([
    `${name}:${type}`,
    `${name}:${type}:nullable`,
    `${name}:${type}:${value}`,
    `${name}:${type}:nullable:${value}`,
    `${name}`,
    `${name}:${type}:nullable:${value}:${value}`,
  ]);
  if (random.chance(0.2)) return decodeOrKeep(mutateText(random, spec));
  if (random.chance(0.8)) return spec;
  return random.pick<unknown>([
    { name, type, nullable: random.chance(0.5), default: value },
    { name, type, default: random.pick([1731177317, true, null, 1.5, [], {}]) },
    { name, type, more: value },
    [name, type],
    null,
    1731177317,
  ]);
}

export function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A value that contains a marker, where the type has room for one. */
export function valueWithMarker(random: Random, type: ColumnType): Value {
  switch (type) {
    case 'text':
      return `${makeValue('text', random)}${marks.text}${makeValue('text', random)}`;
    case 'int':
      return Number(marks.int);
    case 'bigint':
      return BigInt(marks.bigint) * random.pick([1n, -1n]);
    case 'float':
      return Number(marks.int) + 0.5;
    case 'timestamptz':
      return BigInt(Date.UTC(7317, 10, 1 + random.below(20), 0, random.below(60))) * 1000n;
    case 'uuid':
      return marks.uuid;
    case 'jsonb':
      return random.pick([marks.text, [marks.text], { [marks.text]: makeValue('jsonb', random) as string }]);
    default:
      return makeValue(type, random);
  }
}
