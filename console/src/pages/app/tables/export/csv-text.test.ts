import { expect, test } from 'bun:test';
import type { ColumnView } from '../use-table.ts';
import { csvHead, csvLine } from './csv-text.ts';

const column = (name: string, type: ColumnView['type']): ColumnView => ({
  name,
  type,
  nullable: true,
  default: null,
  generated: false,
});
const columns = [column('title', 'text'), column('n', 'bigint'), column('data', 'jsonb')];
const line = (title: string, formulas: 'as_they_are' | 'escaped' = 'as_they_are') =>
  csvLine(new Map([['title', title]]), columns, formulas);

test('null is an empty field, an empty text is quoted, JSON is its text', () => {
  expect(csvHead(columns)).toBe('title,n,data\r\n');
  const row = new Map([
    ['title', '"a \\"b\\",\\nc"'],
    ['n', '"9223372036854775807"'],
    ['data', '{"x":1}'],
  ]);
  expect(csvLine(row, columns, 'as_they_are')).toBe('"a ""b"",\nc",9223372036854775807,"{""x"":1}"\r\n');
  expect(line('""')).toBe('"",,\r\n');
  expect(line('null')).toBe(',,\r\n');
});

test('formulas are escaped only when asked, and numbers never', () => {
  for (const text of ['=1+1', '+A1', '-A1', '@SUM(A1)']) {
    expect(line(JSON.stringify(text))).toBe(`${text},,\r\n`);
    expect(line(JSON.stringify(text), 'escaped')).toBe(`'${text},,\r\n`);
  }
  expect(line('"-1.5"', 'escaped')).toBe('-1.5,,\r\n');
});
