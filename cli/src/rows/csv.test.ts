import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type CsvField, csvRecord, parseCsvRecord } from './csv.ts';
import { readRecords } from './read-records.ts';

test.each<[string, CsvField[]]>([
  ['a,b', ['a', 'b']],
  ['', [null]],
  [',', [null, null]],
  ['a,,""', ['a', null, '']],
  ['"a,b","say ""no""",c', ['a,b', 'say "no"', 'c']],
  ['"line\nbreak","\r\n"', ['line\nbreak', '\r\n']],
  [' a , b ', [' a ', ' b ']],
  ['""""', ['"']],
  ['null,NULL', ['null', 'NULL']],
])('%j is read field by field', (text, fields) => {
  expect(parseCsvRecord(text)).toEqual(fields);
});

test.each(['"a', 'a"b', '"a"b', '"a" ,b', '"a""'])('%j is refused', (text) => {
  expect(parseCsvRecord(text)).toBeString();
});

test('whatever is written is read again, however the file is cut into pieces', async () => {
  const field = fc.option(
    fc.oneof(fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é', '🚲') }), fc.string()),
  );
  // A record of one empty field is a line with nothing on it.
  const record = fc.array(field, { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 7 }),
      async (records, size) => {
        const bytes = new TextEncoder().encode(records.map(csvRecord).join(''));
        const read: CsvField[][] = [];
        for await (const piece of readRecords(inPieces(bytes, size), 'csv'))
          for (const { bytes: found } of piece) {
            const fields = parseCsvRecord(new TextDecoder('utf-8', { ignoreBOM: true }).decode(found));
            if (typeof fields === 'string') throw new Error(fields);
            read.push(fields);
          }
        expect(read).toEqual(records.map((fields) => fields.map(wellFormed)));
      },
    ),
    { numRuns: 2000 },
  );
});

/** UTF-8 has no lone surrogates. */
function wellFormed(field: CsvField): CsvField {
  return field === null ? null : field.toWellFormed();
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}
