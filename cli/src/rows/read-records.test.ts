import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import { type ImportFormat, readRecords, recordBytesMax } from './read-records.ts';

async function* inPieces(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function read(
  text: string | Uint8Array,
  format: ImportFormat,
  size = 1000,
): Promise<[number, string, number][]> {
  const found: [number, string, number][] = [];
  for await (const piece of readRecords(inPieces(text, size), format))
    for (const { line, bytes, end } of piece) found.push([line, new TextDecoder().decode(bytes), end]);
  return found;
}

test.each([1, 2, 3, 5, 1000])(
  'lines are the same however the file is cut (%d bytes at a time)',
  async (size) => {
    expect(await read('{"a":"é"}\r\n\n{"b":2}\n{"c":"🚲"}', 'jsonl', size)).toEqual([
      [1, '{"a":"é"}', 12],
      [2, '', 13],
      [3, '{"b":2}', 21],
      [4, '{"c":"🚲"}', 33],
    ]);
  },
);

test.each([1, 2, 3, 5, 1000])(
  'CSV records go over lines inside quotes (%d bytes at a time)',
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

test('a quote inside a field that does not begin with one does not swallow what follows', async () => {
  expect((await read('size\n5" disk\n3" disk\n', 'csv')).map(([, text]) => text)).toEqual([
    'size',
    '5" disk',
    '3" disk',
  ]);
});

test.each(['', '\uFEFF', '\n'])(
  'a file that holds nothing but %j holds no record with text',
  async (text) => {
    expect((await read(text, 'jsonl', 1)).filter(([, found]) => found !== '')).toEqual([]);
  },
);

test('a line that never ends is refused before it fills the memory, with its number', async () => {
  const endless = (async function* () {
    yield new TextEncoder().encode('a,b\n"');
    const piece = new Uint8Array(1024 * 1024).fill(120);
    for (let mebibytes = 0; mebibytes < 1000; mebibytes += 1) yield piece;
    throw new Error('It was read to its end.');
  })();
  const refused = await Array.fromAsync(readRecords(endless, 'csv')).catch((cause) => cause);
  expect(refused).toBeInstanceOf(ProblemError);
  expect(refused.problem.errors).toMatchObject([{ line: 2, code: 'too_long' }]);
  expect(recordBytesMax).toBeLessThan(16 * 1024 * 1024);
});

test('UTF-16 is told, not imported as nonsense', async () => {
  expect(read(new Uint8Array([0xff, 0xfe, 0x7b, 0]), 'jsonl')).rejects.toThrow('UTF-16');
});
