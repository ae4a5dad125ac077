import { expect, test } from 'bun:test';
import type { ColumnView } from '../use-table.ts';
import { mappingFor, rowLine } from './row-line.ts';
import { formatOf, type ImportFormat, sourceRecords } from './source-records.ts';

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
  let mapping: ReturnType<typeof mappingFor> | null = null;
  for await (const record of sourceRecords(new Blob([text]), format)) {
    mapping ??= mappingFor([...record.fields.keys()], columns);
    const line = rowLine(record, mapping, columns);
    lines.push(
      line.ok
        ? line.text
        : line.faults.map(({ line: at, column: name, detail }) => `${at} ${name} ${detail}`),
    );
  }
  return lines;
}

test('CSV becomes lines of JSON by the types of the columns', async () => {
  const text = 'Title,n,tags,extra\n"a ""b""",9223372036854775807,"{""x"": 1}",zzz\n"",,,\n';
  expect(await linesOf(text, 'csv')).toEqual([
    '{"title":"a \\"b\\"","n":"9223372036854775807","tags":{"x": 1}}',
    '{"title":"","n":null,"tags":null}',
  ]);
});

test('what does not fit is named with its line and column', async () => {
  const text = 'title,n\nok,1\nbad,1.5\na,1,too many\n';
  const [good, bad, long] = await linesOf(text, 'csv');
  expect(good).toBe('{"title":"ok","n":1}');
  expect(bad?.[0]).toStartWith('3 n must be a whole number');
  expect(long?.[0]).toStartWith('4 null has 3 fields');
});

test('lines of JSON keep their digits, and a wrong type is told before anything is sent', async () => {
  const text =
    '{"title":"a","n":"9223372036854775807","tags":[1.10]}\n\n{"title":5}\nnothing\n{"title":"b","id":null}\n';
  const lines = await linesOf(text, 'jsonl');
  expect(lines[0]).toBe('{"title":"a","n":"9223372036854775807","tags":[1.10]}');
  expect(lines[1]).toEqual(['3 title must be a text']);
  expect(lines[2]).toEqual(['4 null is no JSON object']);
  expect(lines[3]).toEqual(['5 id is not among the names of the first records']);
});

test('times that the service keeps are not given, an id may be', () => {
  const mapping = mappingFor(['ID', 'created_at', 'Title', 'other'], columns);
  expect([...mapping.values()]).toEqual(['id', null, 'title', null]);
});

test('a format is known by the name of the file, else by its beginning', () => {
  expect(formatOf('rows.CSV', '{')).toBe('csv');
  expect(formatOf('rows.jsonl', 'a,b')).toBe('jsonl');
  expect(formatOf('', ' {"a":1}')).toBe('jsonl');
  expect(formatOf('', 'a,b')).toBe('csv');
});

test('a file that is not UTF-8 is refused', async () => {
  const records = sourceRecords(new Blob([new Uint8Array([0x61, 0x0a, 0xff, 0xfe])]), 'csv');
  expect(Array.fromAsync(records)).rejects.toThrow();
});
