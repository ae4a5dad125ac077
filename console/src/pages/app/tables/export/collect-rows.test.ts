import { expect, test } from 'bun:test';
import type { ColumnView } from '../use-table.ts';
import { collectRows } from './collect-rows.ts';

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

test('lines come whole out of pieces that end anywhere, inside a character too', async () => {
  for (const length of [1, 5, 1000]) {
    const counts: number[] = [];
    const form = { format: 'csv', columns, formulas: 'escaped' } as const;
    const blob = await collectRows(streamOf(text, length), form, (rows) => counts.push(rows));
    expect(await blob.text()).toBe("title\r\né\r\n\r\n'=1\r\n");
    expect(counts.at(-1)).toBe(3);
  }
});

test('lines of JSON are those of the server, to the letter', async () => {
  const form = { format: 'jsonl', columns, formulas: 'as_they_are' } as const;
  const blob = await collectRows(streamOf(text, 7), form, () => {});
  expect(await blob.text()).toBe(text);
});

test('a stream that breaks off makes no file', async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error('cut')),
  });
  const form = { format: 'jsonl', columns, formulas: 'as_they_are' } as const;
  expect(collectRows(broken, form, () => {})).rejects.toThrow('cut');
});
