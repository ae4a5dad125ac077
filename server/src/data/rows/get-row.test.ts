import { expect, test } from 'bun:test';
import { foreignCatalogue } from '../connectors/foreign-tables.ts';
import { equals } from '../tables/conditions.ts';
import { ifMatchVersions, isNotModified, rowEtag } from './get-row.ts';
import { rowTable, type TableView } from './row-table.ts';
import { etagColumns, oneSql, rowByKeySql } from './sql.ts';
import { idColumn, nameColumn, ownRowsTable, testTable } from './testing.ts';

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

test('the statement of a read by key is built once, and is the one of a row', () => {
  const whole = testTable();
  const view: TableView = {
    rows: equals(nameColumn, 'Rex'),
    columns: [idColumn, nameColumn].map((column) => ({
      column,
      source: column,
      cases:
        column === nameColumn ? [{ when: equals(nameColumn, 'a'), mask: { kind: 'hash', args: {} } }] : [],
    })),
    keys: { inner: 'i', outer: 'o' },
  };
  const masked = rowTable(whole.catalogue, view);
  for (const table of [whole, ownRowsTable('u'), masked]) {
    const texts = ['1', '2'].map((id) => {
      const key = [equals(idColumn, id)];
      const statement = rowByKeySql(table, key);
      expect(statement).toEqual(oneSql(table, table.all, key, etagColumns(table)));
      return statement.text;
    });
    expect(texts[0]).toBe(texts[1]);
  }
  // The ETag of what a mask leaves is made of that alone.
  expect([whole, ownRowsTable('u'), masked].map((table) => etagColumns(table).length)).toEqual([1, 1, 0]);
});

test('the key of a row in another database is written as that database takes it', () => {
  const column = {
    native_type: '',
    nullable: false,
    expression: null,
    has_byte_order: true,
    has_default: false,
  };
  const catalogue = foreignCatalogue(
    {
      schema: 's',
      name: 't',
      kind: 'table',
      primary_key: ['at', 'n'],
      columns: [
        { ...column, name: 'at', type: 'timestamptz', is_generated: false },
        { ...column, name: 'n', type: 'int', is_generated: false },
      ],
    },
    { id: 'c', tenantId: 't', kind: 'mysql' },
  );
  const [at, n] = catalogue.foreign?.keys ?? [];
  if (!at || !n) throw new Error('no key');
  const table = rowTable(catalogue, { ...testTable().view });
  for (const time of ['2027-01-02T03:04:05+01:00', '2027-01-02T03:04:05Z']) {
    const key = [equals(at, time), equals(n, '7')];
    const { text, values } = rowByKeySql(table, key);
    const expected = oneSql(table, table.all, key);
    expect([text, values]).toEqual([expected.text, [...expected.values]]);
  }
});
