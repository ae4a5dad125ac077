import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type CsvField,
  csvRecord,
  parseCsvRecord,
  RowFileError,
  type RowFileFormat,
  readRecords,
  recordBytesMax,
} from './csv.ts';

async function* inPieces(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function read(
  text: string | Uint8Array,
  format: RowFileFormat,
  size = 1000,
): Promise<[number, string, number][]> {
  const found: [number, string, number][] = [];
  for await (const piece of readRecords(inPieces(text, size), format))
    for (const { line, bytes, end } of piece) found.push([line, new TextDecoder().decode(bytes), end]);
  return found;
}

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
])('%j is split into fields', (text, fields) => {
  expect(parseCsvRecord(text)).toEqual(fields);
});

test.each(['"a', 'a"b', '"a"b', '"a" ,b', '"a""'])('%j is refused', (text) => {
  expect(parseCsvRecord(text)).toBeString();
});

test('written records are read back, in chunks of any size', async () => {
  const field = fc.option(
    fc.oneof(fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é', '🚲') }), fc.string()),
  );
  // A record of one empty field is an empty line.
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

test.each([1, 2, 3, 5, 1000])('lines do not depend on the chunk size (%d bytes)', async (size) => {
  expect(await read('{"a":"é"}\r\n\n{"b":2}\n{"c":"🚲"}', 'jsonl', size)).toEqual([
    [1, '{"a":"é"}', 12],
    [2, '', 13],
    [3, '{"b":2}', 21],
    [4, '{"c":"🚲"}', 33],
  ]);
});

test.each([1, 2, 3, 5, 1000])(
  'a quoted CSV field can contain line breaks (chunks of %d bytes)',
  async (size) => {
    const file = '\uFEFFname,note\r\nRex,"two\r\nlines, and a ""quote"""\r\n"",5\r\nAda,"x"';
    expect((await read(file, 'csv', size)).map(([line, text]) => [line, text])).toEqual([
      [1, 'name,note'],
      [2, 'Rex,"two\r\nlines, and a ""quote"""'],
      [4, '"",5'],
      [5, 'Ada,"x"'],
    ]);
  },
);

test('a quote inside an unquoted field does not open a quoted field', async () => {
  expect((await read('size\n5" disk\n3" disk\n', 'csv')).map(([, text]) => text)).toEqual([
    'size',
    '5" disk',
    '3" disk',
  ]);
});

test.each(['', '\uFEFF', '\n'])('a file that contains only %j has no record with text', async (text) => {
  expect((await read(text, 'jsonl', 1)).filter(([, found]) => found !== '')).toEqual([]);
});

test('a record that is too long is refused with its line number', async () => {
  const endless = (async function* () {
    yield new TextEncoder().encode('a,b\n"');
    const piece = new Uint8Array(1024 * 1024).fill(120);
    for (let mebibytes = 0; mebibytes < 1000; mebibytes += 1) yield piece;
    throw new Error('It was read to its end.');
  })();
  const refused = await Array.fromAsync(readRecords(endless, 'csv')).catch((cause) => cause);
  expect(refused).toBeInstanceOf(RowFileError);
  expect(refused).toMatchObject({ line: 2, code: 'too_long' });
  expect(recordBytesMax).toBeLessThan(16 * 1024 * 1024);
});

test('a UTF-16 file is refused', async () => {
  expect(read(new Uint8Array([0xff, 0xfe, 0x7b, 0]), 'jsonl')).rejects.toThrow('UTF-16');
});
