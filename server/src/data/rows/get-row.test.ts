import { expect, test } from 'bun:test';
import { ifMatchVersions, isNotModified, rowEtag } from './get-row.ts';
import { testTable } from './testing.ts';

const table = testTable({ version: 3 });
const row = { json: new Uint8Array() };
const select = [{ column: 'name', alias: 'name' }];

test('an ETag changes with the row, the table and the selected columns', () => {
  expect(rowEtag(table, row, '170')).toBe('"170.3"');
  const tags = [
    rowEtag(table, row, '170'),
    rowEtag(table, row, '171'),
    rowEtag(testTable({ version: 4 }), row, '170'),
    rowEtag(table, row, '170', select),
    rowEtag(table, row, '170', [{ column: 'name', alias: 'n' }]),
  ];
  expect(new Set(tags).size).toBe(tags.length);
  expect(rowEtag(table, row, '170', select)).toBe(rowEtag(table, row, '170', [...select]));
});

test('If-Match compares row versions, whatever was selected', () => {
  expect(ifMatchVersions(null)).toBeNull();
  expect(ifMatchVersions(' * ')).toBeNull();
  expect(ifMatchVersions(rowEtag(table, row, '170'))).toEqual(['170']);
  expect(ifMatchVersions(rowEtag(testTable({ version: 9 }), row, '170', select))).toEqual(['170']);
  expect(ifMatchVersions('"1.1" , "2.1","x"')).toEqual(['1', '2']);
});

test('a weak or malformed tag matches no version', () => {
  for (const tag of [
    '',
    'W/"1.1"',
    '1.1',
    '"1"',
    '"a.1"',
    '"-1.1"',
    '"1.1',
    `"${'9'.repeat(19)}.1"`,
    '"1.1;drop"',
  ])
    expect([tag, ifMatchVersions(tag)]).toEqual([tag, []]);
});

test('If-None-Match compares weakly, with lists and *', () => {
  for (const header of ['"1.1"', 'W/"1.1"', '"x", "1.1"', '*', ' "1.1" '])
    expect([header, isNotModified(header, '"1.1"')]).toEqual([header, true]);
  for (const header of [null, '', '"1.2"', '1.1', 'w/"1.1"'])
    expect([header, isNotModified(header, '"1.1"')]).toEqual([header, false]);
});
