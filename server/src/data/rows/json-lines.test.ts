import { describe, expect, test } from 'bun:test';
import { batchLinesMax, rowBytesMax } from '@svc/contract/rows.ts';
import fc from 'fast-check';
import { Failure } from '../../core/problem.ts';
import { hasSeveralObjects, LineReader, ReceivedBody } from './request-body.ts';
import { testTable } from './testing.ts';

const table = testTable();
/** Reads lines like a batch: the pieces of its body one after the other. */
function readLines(of: typeof table, body: string) {
  const reader = new LineReader();
  const read = [...ReceivedBody.of(body).pieces()].flatMap((piece) => reader.read(of, piece));
  reader.end();
  return { rows: read.map(({ row }) => row), lines: read.map(({ line }) => line) };
}
const nameAt = table.catalogue.columns.findIndex(({ name }) => name === 'name');
const names = (body: string) => readLines(table, body).rows.map((row) => row[nameAt]);
const refusal = (body: string) => {
  try {
    readLines(table, body);
    throw new Error('It was taken.');
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
};

describe('lines', () => {
  test('have one row each; blank lines are counted but have none', () => {
    const body = '\n{"name":"a"}\r\n \t\r\n{"name":"b"}';
    expect(names(body)).toEqual(['a', 'b']);
    expect(readLines(table, body).lines).toEqual([2, 4]);
  });

  test('any texts survive a round trip', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }), (texts) => {
        fc.pre(texts.every((text) => text.isWellFormed() && !text.includes('\0')));
        expect(names(texts.map((name) => JSON.stringify({ name })).join('\n'))).toEqual(texts);
      }),
    );
  });

  test('the last of duplicate keys wins; an absent key differs from null', () => {
    const { rows } = readLines(table, '{"name":"a","name":"b","text":null}');
    expect(rows[0]?.[nameAt]).toBe('b');
    const at = (name: string) => table.catalogue.columns.findIndex((column) => column.name === name);
    expect([rows[0]?.[at('text')], rows[0]?.[at('int')]]).toEqual([null, undefined]);
  });

  test('with problems are reported by number, at most 100', () => {
    const { code, errors } = refusal('{"name":"a"}\n\n{"name":1,"nope":1}\n[1]\n{"name":"b"}\n{"name"');
    expect([code, errors]).toMatchObject([
      'validation_failed',
      [
        { line: 3, column: 'name', code: 'invalid_value' },
        { line: 3, column: 'nope', code: 'unknown_column' },
        { line: 4, code: 'malformed_json' },
        { line: 6, code: 'malformed_json' },
      ],
    ]);
    expect(refusal('1\n'.repeat(5_000)).errors).toHaveLength(100);
  });

  test('must contain at least one row', () => {
    for (const body of ['', '\n', ' \r\n\t']) expect(refusal(body).code).toBe('validation_failed');
  });

  test('are refused if there are too many or one is too long', () => {
    expect(readLines(table, '{}\n'.repeat(batchLinesMax)).rows).toHaveLength(batchLinesMax);
    expect(refusal('{}\n'.repeat(batchLinesMax + 1)).code).toBe('payload_too_large');
    const half = 'ä'.repeat(rowBytesMax / 4 + 1);
    expect(refusal(`{}\n{"name":"${half}","text":"${half}"}`).errors).toMatchObject([
      { line: 2, code: 'too_large' },
    ]);
    expect(readLines(table, `{"name":"${'ä'.repeat(rowBytesMax / 2 - 20)}"}`).rows).toHaveLength(1);
  });
});

describe('under application/json', () => {
  test('several lines are a batch only if the first line is an object', () => {
    for (const body of ['{}\n{}', '{"a":1}\r\n{"a":2}\r\n', '\n {"a":1} \n{', '{"a":"}"}\nx']) {
      expect([body, hasSeveralObjects(body)]).toEqual([body, true]);
    }
    for (const body of [
      '',
      '{}',
      '{}\n',
      '{}\n \n',
      '\n{}',
      '{\n"a":1}',
      '{"a":\n1}',
      '[\n{}]',
      '{"a":{\n}}',
      '1\n2',
    ])
      expect([body, hasSeveralObjects(body)]).toEqual([body, false]);
  });
});
