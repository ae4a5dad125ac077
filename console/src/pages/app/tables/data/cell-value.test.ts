import { expect, test } from 'bun:test';
import { formatCell, parseCell, parseField } from './cell-value.ts';

const json = (type: Parameters<typeof parseCell>[0], text: string) => {
  const written = parseCell(type, text);
  return written.ok ? written.json : null;
};

test('a bigint keeps all its digits', () => {
  expect(json('bigint', '9223372036854775807')).toBe('"9223372036854775807"');
  expect(json('bigint', '42')).toBe('42');
  expect(json('bigint', '9223372036854775808')).toBeNull();
  expect(json('bigint', '1.5')).toBeNull();
});

test('an int has the range of the database', () => {
  expect(json('int', '2147483647')).toBe('2147483647');
  expect(json('int', '-2147483648')).toBe('-2147483648');
  expect(json('int', '2147483648')).toBeNull();
  expect(json('int', '-2147483649')).toBeNull();
  expect(json('int', '')).toBeNull();
});

test('an empty text is a value, and spaces are kept', () => {
  expect(json('text', '')).toBe('""');
  expect(json('text', ' a ')).toBe('" a "');
});

test('a time without an offset is UTC', () => {
  expect(json('timestamptz', '2026-01-31 09:30')).toBe('"2026-01-31T09:30:00Z"');
  expect(json('timestamptz', '2026-01-31')).toBe('"2026-01-31T00:00:00Z"');
  expect(json('timestamptz', '2026-01-31T09:30:00.123456+09:00')).toBe('"2026-01-31T09:30:00.123456+09:00"');
  expect(json('timestamptz', '2026-13-31')).toBeNull();
  expect(json('timestamptz', 'yesterday')).toBeNull();
});

test('JSON is validated and sent unchanged', () => {
  expect(json('jsonb', '{"a": 1.10}')).toBe('{"a": 1.10}');
  expect(json('jsonb', '{a: 1}')).toBeNull();
});

test('other types accept their values only', () => {
  expect(json('bool', 'true')).toBe('true');
  expect(json('bool', 'yes')).toBeNull();
  expect(json('float', '-1.5e3')).toBe('-1.5e3');
  expect(json('float', 'NaN')).toBeNull();
  expect(json('uuid', '0190A9A0-0000-7000-8000-000000000000')).toBe('"0190a9a0-0000-7000-8000-000000000000"');
  expect(json('uuid', 'nobody')).toBeNull();
});

test('displayed values can be written back', () => {
  expect(formatCell('text', '"a\\nb"')).toBe('a\nb');
  expect(formatCell('bigint', '"9223372036854775807"')).toBe('9223372036854775807');
  expect(formatCell('jsonb', '"a"')).toBe('"a"');
  expect(formatCell('int', 'null')).toBe('');
});

test('an empty input is null in nullable columns and a value in text columns', () => {
  const given = (type: 'int' | 'text' | 'jsonb', nullable: boolean, text: string) =>
    parseField({ type, nullable }, { mode: 'value', text });
  expect(given('int', true, ' ')).toEqual({ ok: true, json: 'null' });
  expect(given('int', false, '').ok).toBe(false);
  expect(given('text', false, '')).toEqual({ ok: true, json: '""' });
  expect(given('jsonb', false, 'null').ok).toBe(false);
  expect(parseField({ type: 'text', nullable: true }, { mode: 'null', text: 'x' })).toEqual({
    ok: true,
    json: 'null',
  });
  expect(parseField({ type: 'text', nullable: false }, { mode: 'null', text: 'x' }).ok).toBe(false);
});
