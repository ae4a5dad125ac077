import { describe, expect, test } from 'bun:test';
import type { ColumnType } from '@svc/contract/columns.ts';
import fc from 'fast-check';
import { JsonRows, readValues, rowShape } from './formats.ts';
import { testColumn } from './testing.ts';

/** A row in PostgreSQL's wire format: the number of columns, then each with its length. */
function wireRow(values: readonly (string | null)[]): Buffer {
  const parts = values.map((value) => {
    const bytes = Buffer.from(value ?? '');
    const length = Buffer.alloc(4);
    length.writeInt32BE(value === null ? -1 : bytes.length);
    return Buffer.concat([length, bytes]);
  });
  const count = Buffer.alloc(2);
  count.writeInt16BE(values.length);
  return Buffer.concat([count, ...parts]);
}

const shapeOf = (types: readonly ColumnType[], keys = types.map((_, at) => `k${at}`)) =>
  rowShape(types.map((type, at) => ({ column: testColumn(`c${at}`, at, { type }), key: keys[at] ?? '' })));

function written(types: readonly ColumnType[], values: readonly (string | null)[], keys?: string[]): string {
  const rows = new JsonRows(64);
  rows.row(shapeOf(types, keys), wireRow(values), 0);
  return rows.written().toString('utf8');
}

const one = (type: ColumnType, value: string | null) => written([type], [value]).slice('{"k0":'.length, -1);

describe('writing a value', () => {
  test('writes any text like JSON.stringify', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom('"', '\\', '\n', '\u0001', '\u001f', '\u007f', '\u2028', 'ä', '漢', '😀'),
      }),
    );
    fc.assert(
      fc.property(text, (value) => {
        expect(JSON.parse(one('text', value))).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  test('escapes control characters, quotes and backslashes', () => {
    for (let code = 0; code < 128; code++) {
      const char = String.fromCharCode(code);
      const json = one('text', char);
      expect(JSON.parse(json)).toBe(char);
      if (code < 0x20) expect(json).toBe(`"\\u${code.toString(16).padStart(4, '0')}"`);
      else expect(json).toBe(char === '"' || char === '\\' ? `"\\${char}"` : `"${char}"`);
    }
  });

  test('writes a bigint up to 2^53-1 as a number, beyond as a string', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const isSafe = value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
        expect(one('bigint', String(value))).toBe(isSafe ? String(value) : `"${value}"`);
      }),
    );
    for (const [text, json] of [
      ['9007199254740991', '9007199254740991'],
      ['9007199254740992', '"9007199254740992"'],
      ['-9007199254740991', '-9007199254740991'],
      ['-9007199254740992', '"-9007199254740992"'],
      ['999999999999999', '999999999999999'],
      ['0', '0'],
    ] as const) {
      expect(one('bigint', text)).toBe(json);
    }
  });

  test('writes a timestamp as RFC 3339 in UTC', () => {
    for (const [text, json] of [
      ['2026-01-02 03:04:05+00', '"2026-01-02T03:04:05Z"'],
      ['2026-01-02 03:04:05.123456+00', '"2026-01-02T03:04:05.123456Z"'],
      ['0001-01-01 00:00:00+00', '"0001-01-01T00:00:00Z"'],
      ['9999-12-31 23:59:59.9+00', '"9999-12-31T23:59:59.9Z"'],
    ] as const) {
      expect(one('timestamptz', text)).toBe(json);
    }
  });

  test('writes numbers and JSON unchanged, booleans and uuids in JSON form', () => {
    expect(one('int', '-2147483648')).toBe('-2147483648');
    expect(one('float', '1e+300')).toBe('1e+300');
    expect(one('float', '-0')).toBe('-0');
    expect(one('jsonb', '{"a": [1, 12345678901234567890.10]}')).toBe('{"a": [1, 12345678901234567890.10]}');
    expect(one('jsonb', `"${'x'.repeat(500)}"`)).toBe(`"${'x'.repeat(500)}"`);
    expect([one('bool', 't'), one('bool', 'f')]).toEqual(['true', 'false']);
    expect(one('uuid', '0190a0a0-0000-7000-8000-000000000000')).toBe(
      '"0190a0a0-0000-7000-8000-000000000000"',
    );
  });

  test('writes null for every type', () => {
    for (const type of ['text', 'int', 'bigint', 'float', 'bool', 'timestamptz', 'uuid', 'jsonb'] as const)
      expect(one(type, null)).toBe('null');
  });
});

describe('writing a row', () => {
  test('writes one object in the order of columns, under the selected keys', () => {
    expect(written(['text', 'int', 'text'], ['a', '1', null], ['b', 'a', 'constructor'])).toBe(
      '{"b":"a","a":1,"constructor":null}',
    );
    expect(written([], [])).toBe('{}');
    expect(written(['int'], ['1'], ['__proto__'])).toBe('{"__proto__":1}');
  });

  test('writes rows of any size, growing the buffer', () => {
    const column = fc.record({
      type: fc.constantFrom<ColumnType>('text', 'int', 'jsonb'),
      text: fc.option(fc.string({ unit: 'grapheme', maxLength: 400 })),
    });
    fc.assert(
      fc.property(fc.array(fc.array(column, { maxLength: 12 }), { maxLength: 30 }), (rows) => {
        const out = new JsonRows(64);
        out.text('[');
        for (const [at, columns] of rows.entries()) {
          if (at > 0) out.byte(0x2c);
          out.row(shapeOf(columns.map(({ type }) => type)), wireRow(columns.map(sent)), 0);
        }
        out.text(']');
        expect(JSON.parse(out.written().toString('utf8'))).toEqual(
          rows.map((columns) => Object.fromEntries(columns.map((each, at) => [`k${at}`, shown(each)]))),
        );
      }),
      { numRuns: 200 },
    );

    type Column = { type: ColumnType; text: string | null };
    function sent({ type, text }: Column): string | null {
      if (text === null || type === 'text') return text;
      return type === 'int' ? String(text.length) : JSON.stringify([text]);
    }
    function shown({ type, text }: Column): unknown {
      if (text === null || type === 'text') return text;
      return type === 'int' ? text.length : [text];
    }
  });

  test('reads from any offset and returns the offset of the next column', () => {
    const before = Buffer.from('garbage');
    const row = wireRow(['ä', '1', 'key', null, '']);
    const bytes = Buffer.concat([before, row, before]);
    const out = new JsonRows(64);
    const end = out.row(shapeOf(['text', 'int']), bytes, before.length);
    expect(out.written().toString()).toBe('{"k0":"ä","k1":1}');
    expect(readValues(bytes, end, 3)).toEqual(['key', null, '']);
  });

  test('writes a text of 1 MiB that must be escaped completely', () => {
    const value = '\u0001'.repeat(1024 * 1024);
    expect(one('text', value)).toBe(`"${'\\u0001'.repeat(1024 * 1024)}"`);
  });
});
