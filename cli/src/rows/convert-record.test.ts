import { describe, expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import { parseFlagValue } from '../framework/flag-values.ts';
import {
  checkJsonLine,
  convertJsonLine,
  csvConverter,
  type KnownColumns,
  parseTypes,
} from './convert-record.ts';

const record = (text: string | Uint8Array, line = 1) => ({
  line,
  bytes: typeof text === 'string' ? new TextEncoder().encode(text) : text,
  end: 0,
});

function convert(known: KnownColumns, header: string, line: string) {
  return csvConverter(record(header), known).convert(record(line, 7));
}

const one = (type: ColumnType, nullable: boolean | null, field: string) =>
  convert(
    new Map([
      ['a', { type, nullable }],
      ['b', { type: 'text', nullable: true }],
    ]),
    'a,b',
    `${field},x`,
  );

describe('a field of CSV', () => {
  test.each<[ColumnType, string, string]>([
    ['int', '42', '42'],
    ['int', ' -7 ', '-7'],
    ['int', '007', '"007"'],
    ['int', 'abc', '"abc"'],
    ['bigint', '9223372036854775807', '"9223372036854775807"'],
    ['float', '0.12345678901234567890', '0.12345678901234567890'],
    ['float', 'NaN', '"NaN"'],
    ['bool', 'TRUE', 'true'],
    ['bool', '0', 'false'],
    ['bool', 'maybe', '"maybe"'],
    ['text', '42', '"42"'],
    ['text', '"two\nlines ""quoted"""', '"two\\nlines \\"quoted\\""'],
    ['timestamptz', '2026-01-31T00:00:00Z', '"2026-01-31T00:00:00Z"'],
    ['jsonb', '"{""a"":\n[1,2]}"', '{"a": [1,2]}'],
    ['jsonb', '12345678901234567890.10', '12345678901234567890.10'],
    ['jsonb', '"""text"""', '"text"'],
  ])('of type %s: %j goes as %s', (type, field, json) => {
    expect(one(type, true, field)).toMatchObject({ line: 7, json: `{"a":${json},"b":"x"}` });
  });

  test('that is empty is null, and "" is an empty text', () => {
    expect(one('text', true, '')).toMatchObject({ json: '{"a":null,"b":"x"}' });
    expect(one('text', null, '')).toMatchObject({ json: '{"a":null,"b":"x"}' });
    expect(one('text', true, '""')).toMatchObject({ json: '{"a":"","b":"x"}' });
  });

  test('that is empty omits a column that cannot be null, so that its default applies', () => {
    expect(one('uuid', false, '')).toMatchObject({ json: '{"b":"x"}' });
  });
});

test('an error names the line of the record, and keeps its text', () => {
  expect(one('jsonb', true, '{no')).toEqual({
    fault: { line: 7, column: 'a', code: 'invalid_value', detail: 'must be valid JSON' },
    text: '{no,x',
  });
  expect(one('text', true, 'a,b')).toMatchObject({
    fault: { line: 7, detail: 'has 3 fields, the header 2' },
  });
  expect(one('text', true, '"a')).toMatchObject({ fault: { line: 7, code: 'invalid_csv' } });
  const broken = new Uint8Array([0x7b, 0xff, 0x7d]);
  expect(convertJsonLine(record(broken))).toMatchObject({ fault: { line: 1, code: 'invalid_encoding' } });
});

test('an empty line is a record only if the file has one column', () => {
  const types = parseTypes(['a:text', 'b:text']);
  expect(convert(types, 'a,b', '')).toBeNull();
  expect(convert(types, 'a', '')).toMatchObject({ json: '{"a":null}' });
  expect(convertJsonLine(record('  '))).toBeNull();
});

test.each(['a,a', 'a,', 'a,unknown', '"a', 'a;b', 'a\tb'])('a header like %j is rejected', (header) => {
  const refused = (() => {
    try {
      return csvConverter(record(header), parseTypes(['a:text']));
    } catch (cause) {
      return cause;
    }
  })();
  expect(refused).toBeInstanceOf(ProblemError);
});

test('JSON Lines are sent unchanged; a preview checks that they are objects', () => {
  const line = '{"big": 12345678901234567890,  "f":1.10}';
  expect(convertJsonLine(record(line))).toMatchObject({ json: line });
  expect(convertJsonLine(record('[1]'))).toMatchObject({ json: '[1]' });
  for (const text of ['[1]', '{', '1', 'null'])
    expect(checkJsonLine(record(text))).toMatchObject({ fault: { code: 'invalid_json' } });
});

test('types with arguments are one entry of --types each, and lists are JSON', () => {
  const flag = { type: 'list', summary: '' } as const;
  const entries = parseFlagValue('--types', flag, 'a:decimal(12,2), b:enum(x,y),c:text[]') as string[];
  expect(entries).toEqual(['a:decimal(12,2)', 'b:enum(x,y)', 'c:text[]']);
  const types = parseTypes(entries);
  expect(convert(types, 'a,b,c', '1.50,x,"[""p"",""q""]"')).toMatchObject({
    json: '{"a":"1.50","b":"x","c":["p","q"]}',
  });
  expect(() => parseTypes(['a:decimal'])).toThrow('--types takes');
});
