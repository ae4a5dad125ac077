import { expect, test } from 'bun:test';
import type { ColumnView } from '../use-table.ts';
import { collectRows, csvHeader, csvLine } from './export-rows.ts';

const columns: ColumnView[] = [
  { name: 'title', type: 'text', nullable: true, default: null, generated: false },
];

function streamOf(text: string, pieceLength: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += pieceLength)
        controller.enqueue(bytes.slice(at, at + pieceLength));
      controller.close();
    },
  });
}
const text = '{"title":"é"}\n{"title":null}\n{"title":"=1"}\n';

test('lines are complete wherever the chunks end', async () => {
  for (const length of [1, 5, 1000]) {
    const counts: number[] = [];
    const form = { format: 'csv', columns, formulas: 'escaped' } as const;
    const blob = await collectRows(streamOf(text, length), form, (rows) => counts.push(rows));
    expect(await blob.text()).toBe("title\r\né\r\n\r\n'=1\r\n");
    expect(counts.at(-1)).toBe(3);
  }
});

test('JSON lines are exported unchanged', async () => {
  const form = { format: 'jsonl', columns, formulas: 'as_they_are' } as const;
  const blob = await collectRows(streamOf(text, 7), form, () => {});
  expect(await blob.text()).toBe(text);
});

test('an interrupted stream produces no file', async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error('cut')),
  });
  const form = { format: 'jsonl', columns, formulas: 'as_they_are' } as const;
  expect(collectRows(broken, form, () => {})).rejects.toThrow('cut');
});

const column = (name: string, type: ColumnView['type']): ColumnView => ({
  name,
  type,
  nullable: true,
  default: null,
  generated: false,
});
const csvColumns = [column('title', 'text'), column('n', 'bigint'), column('data', 'jsonb')];
const line = (title: string, formulas: 'as_they_are' | 'escaped' = 'as_they_are') =>
  csvLine(new Map([['title', title]]), csvColumns, formulas);

test('null is an empty field, an empty text is quoted', () => {
  expect(csvHeader(csvColumns)).toBe('title,n,data\r\n');
  const row = new Map([
    ['title', '"a \\"b\\",\\nc"'],
    ['n', '"9223372036854775807"'],
    ['data', '{"x":1}'],
  ]);
  expect(csvLine(row, csvColumns, 'as_they_are')).toBe('"a ""b"",\nc",9223372036854775807,"{""x"":1}"\r\n');
  expect(line('""')).toBe('"",,\r\n');
  expect(line('null')).toBe(',,\r\n');
});

test('formulas are escaped on request, numbers never', () => {
  for (const text of ['=1+1', '+A1', '-A1', '@SUM(A1)']) {
    expect(line(JSON.stringify(text))).toBe(`${text},,\r\n`);
    expect(line(JSON.stringify(text), 'escaped')).toBe(`'${text},,\r\n`);
  }
  expect(line('"-1.5"', 'escaped')).toBe('-1.5,,\r\n');
});
