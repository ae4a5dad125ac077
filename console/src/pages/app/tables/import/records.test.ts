import { expect, test } from 'bun:test';
import type { ColumnView } from '../use-table.ts';
import { defaultMapping, detectFormat, type ImportFormat, readImport, toJsonLine } from './records.ts';

const column = (name: string, type: ColumnView['type'], more: Partial<ColumnView> = {}): ColumnView => ({
  name,
  type,
  nullable: false,
  default: null,
  generated: false,
  ...more,
});
const columns = [
  column('id', 'uuid', { generated: true }),
  column('title', 'text'),
  column('n', 'bigint', { nullable: true }),
  column('tags', 'jsonb', { nullable: true }),
  column('created_at', 'timestamptz', { generated: true }),
];

async function linesOf(text: string, format: ImportFormat) {
  const lines = [];
  let mapping: ReturnType<typeof defaultMapping> | null = null;
  for await (const record of readImport(new Blob([text]), format)) {
    mapping ??= defaultMapping([...record.fields.keys()], columns);
    const line = toJsonLine(record, mapping, columns);
    lines.push(
      line.ok
        ? line.text
        : line.faults.map(({ line: at, column: name, detail }) => `${at} ${name} ${detail}`),
    );
  }
  return lines;
}

test('CSV is converted by the column types', async () => {
  const text = 'Title,n,tags,extra\n"a ""b""",9223372036854775807,"{""x"": 1}",zzz\n"",,,\n';
  expect(await linesOf(text, 'csv')).toEqual([
    '{"title":"a \\"b\\"","n":"9223372036854775807","tags":{"x": 1}}',
    '{"title":"","n":null,"tags":null}',
  ]);
});

test('errors name the line and column', async () => {
  const text = 'title,n\nok,1\nbad,1.5\na,1,too many\n';
  const [good, bad, long] = await linesOf(text, 'csv');
  expect(good).toBe('{"title":"ok","n":1}');
  expect(bad?.[0]).toStartWith('3 n must be a whole number');
  expect(long?.[0]).toStartWith('4 null has 3 fields');
});

test('JSON lines keep their digits, and wrong types are reported', async () => {
  const text =
    '{"title":"a","n":"9223372036854775807","tags":[1.10]}\n\n{"title":5}\nnothing\n{"title":"b","id":null}\n';
  const lines = await linesOf(text, 'jsonl');
  expect(lines[0]).toBe('{"title":"a","n":"9223372036854775807","tags":[1.10]}');
  expect(lines[1]).toEqual(['3 title must be a string']);
  expect(lines[2]).toEqual(['4 null is not a JSON object']);
  expect(lines[3]).toEqual(['5 id is not a field of the first records']);
});

test('an id can be imported, generated times cannot', () => {
  const mapping = defaultMapping(['ID', 'created_at', 'Title', 'other'], columns);
  expect([...mapping.values()]).toEqual(['id', null, 'title', null]);
});

test('the format follows from the file name or the content', () => {
  expect(detectFormat('rows.CSV', '{')).toBe('csv');
  expect(detectFormat('rows.jsonl', 'a,b')).toBe('jsonl');
  expect(detectFormat('', ' {"a":1}')).toBe('jsonl');
  expect(detectFormat('', 'a,b')).toBe('csv');
});

test('a file that is not UTF-8 is refused', async () => {
  const records = readImport(new Blob([new Uint8Array([0x61, 0x0a, 0xff, 0xfe])]), 'csv');
  expect(Array.fromAsync(records)).rejects.toThrow();
});
