import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { CopyText } from './insert-batch.ts';

async function copied(rows: readonly (readonly (string | null)[])[]): Promise<Buffer> {
  const text = new CopyText(Array.from({ length: 100 }, () => true));
  for (const row of rows) text.add(row);
  text.end();
  return Buffer.concat(await Array.fromAsync(text));
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

test('special characters and end markers in values are escaped', async () => {
  const values = ['\t', '\n', '\r', '\\', '\\N', '\\.', 'a\\tb', '', 'N', '\\\\', '"', '\u0001', null];
  expect(read(await copied([values]))).toEqual([values]);
  expect((await copied([['\\N', null, '\\.']])).toString()).toBe('\\\\N\t\\N\t\\\\.\n');
});

test('any rows survive a round trip', async () => {
  const value = fc.option(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom('\\', '\n', '\r', '\t', 'N', '.', 'a') }),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(value, { minLength: 2, maxLength: 5 })), async (rows) => {
      expect(read(await copied(rows))).toEqual(rows);
    }),
    { numRuns: 300 },
  );
});

test('large data is split into chunks, which can be read while rows are added, and again', async () => {
  const rows = Array.from({ length: 30_000 }, (_, at) => [String(at), 'ä'.repeat(20)]);
  const text = new CopyText([true, true]);
  const first = Array.fromAsync(text);
  for (const row of rows) {
    text.add(row);
    if (row[0] === '20000') await Promise.resolve();
  }
  text.end();
  for (const chunks of [await first, await Array.fromAsync(text)]) {
    expect(chunks.length).toBeGreaterThan(2);
    expect(read(Buffer.concat(chunks))).toEqual(rows);
  }
});

test('no rows give no data', async () => {
  expect((await copied([])).length).toBe(0);
});

test('a problem of a later row ends the data with it', async () => {
  const text = new CopyText([true, true]);
  text.add(['1']);
  const all = Array.fromAsync(text);
  text.end(new Error('line 2'));
  await expect(all).rejects.toThrow('line 2');
});
