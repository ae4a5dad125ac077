import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { CopyText } from './insert-batch.ts';

function copied(rows: readonly (readonly (string | null)[])[]): Buffer {
  const text = new CopyText();
  for (const row of rows) text.add(row);
  return Buffer.concat(text.end().map((chunk) => Buffer.from(chunk)));
}

/** Parses the text format like PostgreSQL: https://www.postgresql.org/docs/current/sql-copy.html */
function read(bytes: Buffer): (string | null)[][] {
  const text = bytes.toString('utf8');
  if (text === '') return [];
  expect(text.endsWith('\n')).toBe(true);
  const named: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' };
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) =>
      line
        .split('\t')
        .map((field) =>
          field === '\\N' ? null : field.replace(/\\(.)/g, (_, char: string) => named[char] ?? `?${char}`),
        ),
    );
}

test('special characters and end markers in values are escaped', () => {
  const values = ['\t', '\n', '\r', '\\', '\\N', '\\.', 'a\\tb', '', 'N', '\\\\', '"', '\u0001', null];
  expect(read(copied([values]))).toEqual([values]);
  expect(copied([['\\N', null, '\\.']]).toString()).toBe('\\\\N\t\\N\t\\\\.\n');
});

test('any rows survive a round trip', () => {
  const value = fc.option(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom('\\', '\n', '\r', '\t', 'N', '.', 'a') }),
    ),
  );
  fc.assert(
    fc.property(fc.array(fc.array(value, { minLength: 2, maxLength: 5 })), (rows) => {
      expect(read(copied(rows))).toEqual(rows);
    }),
    { numRuns: 300 },
  );
});

test('large data is split into chunks', () => {
  const rows = Array.from({ length: 30_000 }, (_, at) => [String(at), 'ä'.repeat(20)]);
  const text = new CopyText();
  for (const row of rows) text.add(row);
  const chunks = text.end();
  expect(chunks.length).toBeGreaterThan(2);
  expect(read(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))))).toEqual(rows);
});

test('no rows give no data', () => {
  expect(new CopyText().end()).toEqual([]);
});
