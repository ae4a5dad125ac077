import { expect, test } from 'bun:test';
import { demandedVersions, isNotModified, rowEtag } from './etag.ts';
import { testTable } from './testing.ts';

const table = testTable({ version: 3 });
const select = [{ column: 'name', alias: 'name' }];

test('a tag changes with the row, with the table and with what is shown', () => {
  expect(rowEtag(table, '170')).toBe('"170.3"');
  const tags = [
    rowEtag(table, '170'),
    rowEtag(table, '171'),
    rowEtag(testTable({ version: 4 }), '170'),
    rowEtag(table, '170', select),
    rowEtag(table, '170', [{ column: 'name', alias: 'n' }]),
  ];
  expect(new Set(tags).size).toBe(tags.length);
  expect(rowEtag(table, '170', select)).toBe(rowEtag(table, '170', [...select]));
});

test('If-Match names versions of the row, however it was shown', () => {
  expect(demandedVersions(null)).toBeNull();
  expect(demandedVersions(' * ')).toBeNull();
  expect(demandedVersions(rowEtag(table, '170'))).toEqual(['170']);
  expect(demandedVersions(rowEtag(testTable({ version: 9 }), '170', select))).toEqual(['170']);
  expect(demandedVersions('"1.1" , "2.1","x"')).toEqual(['1', '2']);
});

test('a tag that is weak, malformed or beyond any version demands what can not be', () => {
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
    expect([tag, demandedVersions(tag)]).toEqual([tag, []]);
});

test('If-None-Match compares weakly, with one of several, or with any', () => {
  for (const header of ['"1.1"', 'W/"1.1"', '"x", "1.1"', '*', ' "1.1" '])
    expect([header, isNotModified(header, '"1.1"')]).toEqual([header, true]);
  for (const header of [null, '', '"1.2"', '1.1', 'w/"1.1"'])
    expect([header, isNotModified(header, '"1.1"')]).toEqual([header, false]);
});
