import { expect, test } from 'bun:test';
import { CsvReader } from './csv-reader.ts';

function read(text: string, pieceLength = text.length): { line: number; cells: string[] }[] {
  const reader = new CsvReader();
  const records = [];
  for (let at = 0; at < text.length; at += pieceLength)
    records.push(...reader.read(text.slice(at, at + pieceLength)));
  return [...records, ...reader.end()].map(({ line, cells }) => ({
    line,
    cells: cells.map((cell) => (cell.isQuoted ? `q:${cell.text}` : cell.text)),
  }));
}

const text = 'a,b\r\n"x, ""y""",\r\n"two\r\nlines",""\n\nlast,1';
const records = [
  { line: 1, cells: ['a', 'b'] },
  { line: 2, cells: ['q:x, "y"', ''] },
  { line: 3, cells: ['q:two\r\nlines', 'q:'] },
  { line: 6, cells: ['last', '1'] },
];

test('quotes, commas, line breaks inside quotes and empty lines are read as they are meant', () => {
  expect(read(text)).toEqual(records);
});

test('it does not matter where the pieces of a file end', () => {
  for (const length of [1, 2, 3, 7]) expect([length, read(text, length)]).toEqual([length, records]);
});

test('an empty file has no records', () => {
  expect(read('')).toEqual([]);
  expect(read('\n\n')).toEqual([]);
});
