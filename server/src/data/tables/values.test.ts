import { describe, expect, test } from 'bun:test';
import { type ColumnType, columnTypes, type PlainType } from '@svc/contract/columns.ts';
import { rowBytesMax } from '@svc/contract/rows.ts';
import fc from 'fast-check';
import { patientMs } from '../../../../scripts/patience.ts';
import { type ParsedJson, type ParsedText, parseJson, parseText } from './values.ts';

/** The bound parameter, or `refused`. */
const bound = (checked: ParsedText | ParsedJson) => (checked.ok ? checked.value : 'refused');
const text = (type: ColumnType, value: string) => bound(parseText(type, value));
const json = (type: ColumnType, raw: string) => bound(parseJson({ type }, raw));

function refusesText(type: ColumnType, values: readonly string[]) {
  for (const value of values) expect([type, value, text(type, value)]).toEqual([type, value, 'refused']);
}
function refusesJson(type: ColumnType, values: readonly string[]) {
  for (const value of values) expect([type, value, json(type, value)]).toEqual([type, value, 'refused']);
}

/** Any UTF-16, lone surrogates too. */
const units = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
  .map((each) => String.fromCharCode(...each));

describe('int', () => {
  test('has the range of four bytes', () => {
    for (const value of ['0', '7', '-1', '2147483647', '-2147483648']) {
      expect(text('int', value)).toBe(value);
      expect(json('int', value)).toBe(value);
    }
    const beyond = ['2147483648', '-2147483649', '9999999999', '99999999999999999999'];
    refusesText('int', beyond);
    refusesJson('int', beyond);
  });
  test('-0 is 0', () => {
    expect(text('int', '-0')).toBe('0');
    expect(json('int', '-0')).toBe('0');
  });
  test('a fraction, an exponent, a boolean, a string and an empty value are refused', () => {
    refusesText('int', [
      '1.0',
      '1e3',
      'true',
      '',
      ' 5',
      '5 ',
      '5\n',
      '+5',
      '05',
      '-',
      '0x5',
      '1_000',
      '٣',
      '--5',
    ]);
    refusesJson('int', ['1.0', '1e3', 'true', '""', '"5"', '[]', '{}', '01', '-01', '', 'NaN']);
  });
});

describe('bigint', () => {
  const whole = ['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993'];
  const borders = [
    '9223372036854775807',
    '-9223372036854775808',
    '-9223372036854775807',
    '1000000000000000000',
  ];
  test('no digit is lost around 2^53 and at ±2^63, as a number and as a string', () => {
    for (const value of [...whole, ...borders]) {
      expect(text('bigint', value)).toBe(value);
      expect(json('bigint', value)).toBe(value);
      expect(json('bigint', `"${value}"`)).toBe(value);
    }
  });
  test('beyond ±2^63 is refused', () => {
    const beyond = [
      '9223372036854775808',
      '-9223372036854775809',
      '10000000000000000000',
      '-99999999999999999999',
    ];
    refusesText('bigint', beyond);
    refusesJson('bigint', [...beyond, ...beyond.map((value) => `"${value}"`)]);
  });
  test('-0 is 0; other spellings are refused', () => {
    expect(json('bigint', '"-0"')).toBe('0');
    refusesText('bigint', ['', '1.0', '1e3', '+1', '01', '1n', '"1"']);
    refusesJson('bigint', ['""', '"1.0"', '1.0', '1e3', '"1e3"', 'true', '" 1"', '"01"', '[1]', '"1', '"']);
  });
  test('an escaped digit in a string is the digit', () => {
    expect(json('bigint', '"\\u0031\\u0032"')).toBe('12');
  });
  test('agrees with BigInt on every whole number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), (value) => {
        const fits = BigInt.asIntN(64, value) === value;
        expect(json('bigint', String(value))).toBe(fits ? String(value) : 'refused');
      }),
    );
  });
});

describe('float', () => {
  test('is bound as a double', () => {
    expect(text('float', '0.1')).toBe('0.1');
    expect(json('float', '1e3')).toBe('1000');
    expect(json('float', '1.0')).toBe('1');
    expect(json('float', '1.7976931348623157e308')).toBe('1.7976931348623157e+308');
    expect(json('float', '5e-324')).toBe('5e-324');
  });
  test('-0 stays -0; too small numbers become 0', () => {
    expect(json('float', '-0')).toBe('-0');
    expect(json('float', '-0.0')).toBe('-0');
    expect(json('float', '1e-400')).toBe('0');
    expect(json('float', '-1e-400')).toBe('-0');
  });
  test('1e400, NaN, Infinity and other spellings than JSON are refused', () => {
    const odd = [
      '1e400',
      '-1e400',
      'NaN',
      'nan',
      'Infinity',
      '-Infinity',
      'inf',
      '0x10',
      '+1',
      '01',
      '1.',
      '.5',
      '',
    ];
    refusesText('float', [...odd, ' 1', '1 ', '1e', '1_0', '1,5']);
    refusesJson('float', [...odd, '"1"', 'true', '[1]']);
  });
});

describe('bool', () => {
  test('is true or false, unlike PostgreSQL’s other spellings', () => {
    expect([text('bool', 'true'), json('bool', 'false')]).toEqual(['true', 'false']);
    refusesText('bool', ['t', 'f', 'yes', 'no', 'on', 'off', '1', '0', 'TRUE', 'True', '', ' true']);
    refusesJson('bool', ['"true"', '1', '0', '""', '[]']);
  });
});

describe('uuid', () => {
  const lower = '0190c3a1-7b2c-7def-8a9b-0123456789ab';
  test('any case, without dashes or in braces is normalized', () => {
    const bare = lower.replaceAll('-', '');
    for (const value of [lower, lower.toUpperCase(), bare, bare.toUpperCase(), `{${lower}}`, `{${bare}}`]) {
      expect(text('uuid', value)).toBe(lower);
      expect(json('uuid', JSON.stringify(value))).toBe(lower);
    }
  });
  test('other dashes, half braces and other characters are refused', () => {
    refusesText('uuid', [
      '',
      `{${lower}`,
      `${lower}}`,
      `{{${lower}}}`,
      `urn:uuid:${lower}`,
      ` ${lower}`,
      `${lower}\n`,
      '0190c3a17b2c-7def-8a9b-0123456789ab',
      '0190-c3a1-7b2c-7def-8a9b-0123-4567-89ab',
      lower.slice(1),
      `${lower.slice(0, -1)}g`,
      'K'.repeat(32),
      `${lower.slice(0, -1)}\u212a`,
    ]);
    refusesJson('uuid', [lower, '5', 'true', '""']);
  });
});

describe('text', () => {
  test('is bound verbatim', () => {
    for (const value of [
      '',
      ' a ',
      '42',
      'null',
      "'; drop table x --",
      '\ufeffBOM',
      '😀',
      'e\u0301',
      '\\',
      '%_*',
    ]) {
      expect(text('text', value)).toBe(value);
      expect(json('text', JSON.stringify(value))).toBe(value);
    }
    expect(json('text', '"\\ud83d\\ude00\\n\\/"')).toBe('😀\n/');
  });
  test('U+0000 and lone surrogates are refused, escaped too', () => {
    refusesText('text', ['\0', 'a\0b', '\ud800', 'a\udc00', '\ude00\ud83d']);
    refusesJson('text', [
      '"\\u0000"',
      '"a\\u0000b"',
      '"\\ud800"',
      '"\\udc00x"',
      '"\\ud800\\ud800"',
      '"\ud800"',
    ]);
  });
  test('only a JSON string is text', () => {
    refusesJson('text', [
      '5',
      'true',
      '[]',
      '{}',
      'abc',
      '"',
      '"a',
      'a"',
      '"a"b"',
      '"\n"',
      '"\\x"',
      "'a'",
      '""a""',
    ]);
  });
  test('has at most 1 MiB', () => {
    expect(text('text', 'a'.repeat(rowBytesMax))).toHaveLength(rowBytesMax);
    expect(text('text', 'é'.repeat(rowBytesMax / 2))).toHaveLength(rowBytesMax / 2);
    for (const value of [
      'a'.repeat(rowBytesMax + 1),
      'é'.repeat(rowBytesMax / 2 + 1),
      'a'.repeat(10_000_000),
    ]) {
      expect(text('text', value)).toBe('refused');
    }
  });
});

describe('jsonb', () => {
  test('is bound unchanged', () => {
    for (const value of [
      '{"b":1,"a":[null, 1.10]}',
      '9007199254740993',
      '1e400',
      '"x"',
      '[]',
      'true',
      ' 1 ',
    ]) {
      expect(text('jsonb', value)).toBe(value);
      expect(json('jsonb', value)).toBe(value);
    }
  });
  test('null is SQL NULL in a body and JSON null in a filter', () => {
    expect(parseJson({ type: 'jsonb' }, 'null')).toEqual({ ok: true, value: null });
    expect(parseText('jsonb', 'null')).toEqual({ ok: true, value: 'null' });
    expect(json('jsonb', '[null]')).toBe('[null]');
  });
  test('invalid JSON is refused', () => {
    refusesText('jsonb', [
      '',
      ' ',
      'a',
      '{',
      '[1,]',
      '{a:1}',
      "'a'",
      'NaN',
      'undefined',
      '1 2',
      '[}',
      '"\\x"',
      '01',
    ]);
    refusesText('jsonb', [`"${'a'.repeat(300)}`, `["\\u12"${' '.repeat(300)}]`, '\ufeff1']);
  });
  test('U+0000 and lone surrogates are refused anywhere, in keys too, escaped or not', () => {
    refusesText('jsonb', [
      '"\\u0000"',
      '{"\\u0000":1}',
      '[["a\\u0000"]]',
      '"\0"',
      '"\\ud800"',
      '{"\\udc00":1}',
      '"\\ude00\\ud83d"',
      '"\\ud83d"',
      '"\\ud83dx"',
      '"\\ud83d\\n"',
      '"\\ud83d\\ud83d"',
      '"\ud800"',
      '"\\ud83d\ude00"',
    ]);
    for (const value of [
      '"\\\\u0000"',
      '"\\ud83d\\ude00"',
      '"😀"',
      '{"\\\\ud800":"\\u0001"}',
      '"\\\\\\"\\u0041"',
    ]) {
      expect(text('jsonb', value)).toBe(value);
    }
  });
  test('is nested at most 100 levels; deeper input is refused quickly', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number) => '{"a":'.repeat(depth) + 1 + '}'.repeat(depth);
    expect(text('jsonb', nested(100))).toBe(nested(100));
    expect(text('jsonb', objects(100))).toBe(objects(100));
    expect(text('jsonb', `["${'['.repeat(500)}"]`)).not.toBe('refused');
    refusesText('jsonb', [nested(101), objects(101)]);
    const started = performance.now();
    for (const bomb of ['['.repeat(1_000_000), nested(500_000), objects(100_000)]) {
      expect(text('jsonb', bomb) === 'refused').toBe(true);
    }
    expect(performance.now() - started).toBeLessThan(patientMs(1_000));
  });
  test('numbers out of PostgreSQL’s range or with huge exponents are refused', () => {
    refusesText('jsonb', [
      '1e401',
      '-1E+1000',
      '[1e-401]',
      '1e131072',
      `[${'9'.repeat(1001)}]`,
      '1e0000000401',
    ]);
    refusesText('jsonb', [`[${'1e400,'.repeat(10_000)}0]`]);
    for (const value of ['1e99', '{"id":"3e4000"}', `[${'9'.repeat(1000)}]`, '[1.5e+0003]']) {
      expect(text('jsonb', value)).toBe(value);
    }
  });
});

describe('every type', () => {
  test('JSON null is SQL NULL', () => {
    for (const type of columnTypes) expect(parseJson({ type }, 'null')).toEqual({ ok: true, value: null });
  });
  test('errors are constants, so they cannot repeat the value', () => {
    fc.assert(
      fc.property(fc.constantFrom(...columnTypes), fc.oneof(units, fc.string()), (type, value) => {
        for (const checked of [parseText(type, value), parseJson({ type }, value)]) {
          if (!checked.ok) expect(Object.isFrozen(checked)).toBe(true);
        }
      }),
    );
  });
  test('values written by JSON.stringify are accepted exactly by the rules', () => {
    const value = fc.oneof(
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),

      units,
      fc.string(),
      fc.dictionary(units, units),
      fc.uuid(),
      fc.bigInt().map(String),
      fc.jsonValue(),
      fc.constant(null),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...columnTypes), value, (type, each) => {
        const checked = parseJson({ type }, JSON.stringify(each));
        expect([type, each, checked.ok]).toEqual([type, each, each === null || fits[type](each)]);
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The rules again, on values instead of text. */
const fits: Record<PlainType, (value: unknown) => boolean> = {
  text: (value) => typeof value === 'string' && value.isWellFormed() && !value.includes('\0'),
  int: (value) => typeof value === 'number' && (value | 0) === value,
  bigint: (value) =>
    (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 63) ||
    (typeof value === 'string' &&
      /^(0|-?[1-9]\d*)$/.test(value) &&
      BigInt.asIntN(64, BigInt(value)) === BigInt(value)),
  float: (value) => typeof value === 'number',
  bool: (value) => typeof value === 'boolean',
  timestamptz: (value) =>
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT.*Z$/.test(value) &&
    !Number.isNaN(Date.parse(value)) &&
    value > '0001',
  date: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && value > '0001',
  uuid: (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
  jsonb: (value) => isStorable(value),
  'text[]': (value) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string') && isStorable(value),
  'int[]': (value) => Array.isArray(value) && value.every((item) => (item | 0) === item),
  autonumber: (value) => fits.bigint(value),
};

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, each]) => isStorable(key) && isStorable(each));
}
