import { describe, expect, test } from 'bun:test';
import { Failure } from '../../core/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { ownersAccess } from './decide.ts';
import {
  type FillOptions,
  fillDefaults,
  insertRights,
  newVersion,
  parseChanges,
  parseRowObject,
} from './parse-row.ts';
import { rowTable, wholeView } from './row-table.ts';
import { idColumn, ownRowsAccess, testColumn, testTable } from './testing.ts';

const created = testColumn('created_at', 20, { type: 'timestamptz', nullable: false, role: 'created_at' });
const owner = testColumn('by', 9, { nullable: false, role: 'owner' });
const columns: CatalogueColumn[] = [
  idColumn,
  owner,
  testColumn('must', 10, { nullable: false }),
  testColumn('may', 11),
  testColumn('seven', 12, { type: 'int', nullable: false, default: { kind: 'literal', text: '7' } }),
  testColumn('at', 13, { type: 'timestamptz', default: { kind: 'now' } }),
  testColumn('token', 14, { type: 'uuid', default: { kind: 'random_uuid' } }),
  created,
];
const table = testTable({ columns, owner });
const filling = (more: Partial<FillOptions<string>> = {}): FillOptions<string> => ({
  userId: 'u1',
  rights: insertRights(table, ownersAccess),
  now: 'the time',
  nextNumber: () => '1',
  ...more,
});
const byGrant = filling({ rights: insertRights(table, ownRowsAccess('u1')) });
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[47]/;

const sent = (json: string, of = table) => {
  const row = parseRowObject(of, json, 0, json.length);
  return row as (string | null | undefined)[];
};
const filled = (json: string, by = filling(), of = table) => fillDefaults(of, sent(json, of), by);

describe('parsing a row', () => {
  test('returns values by column position; null differs from an absent key', () => {
    const row = sent('{"must":"x","may":null,"seven":-0}');
    expect([row[2], row[3], row[4], row[5]]).toEqual(['x', null, '0', undefined]);
  });

  test('reports all problems without values', () => {
    const errors = sent('{"must":1,"nope":"secret","seven":"secret","token":"secret"}');
    expect(errors).toMatchObject([
      { column: 'must', code: 'invalid_value' },
      { column: 'nope', code: 'unknown_column' },
      { column: 'seven', code: 'invalid_value' },
      { column: 'token', code: 'invalid_value' },
    ]);
    expect(JSON.stringify(errors)).not.toContain('secret');
  });
});

describe('absent columns', () => {
  test('get their default, the time, a new id or null', () => {
    expect(filled('{"must":"x"}')).toEqual([
      expect.stringMatching(uuid),
      'u1',
      'x',
      null,
      '7',
      'the time',
      expect.stringMatching(uuid),
      'the time',
    ]);
  });

  test('are not filled in if null was sent', () => {
    expect(filled('{"must":"x","at":null,"token":null}')).toMatchObject({ 5: null, 6: null });
    expect(filled('{"must":null,"seven":null,"id":null,"by":null}')).toMatchObject([
      { column: 'id', code: 'not_null' },
      { column: 'by', code: 'not_null' },
      { column: 'must', code: 'not_null' },
      { column: 'seven', code: 'not_null' },
    ]);
  });

  test('without default are required', () => {
    expect(filled('{}')).toMatchObject([{ column: 'must', code: 'required' }]);
  });

  test('of a sequence id get the next number', () => {
    const id: CatalogueColumn = { ...idColumn, type: 'bigint', default: { kind: 'sequence' } };
    const numbered = rowTable(
      { ...table.catalogue, columns: [id, ...columns.slice(1)], idColumn: id },
      wholeView,
    );
    expect(filled('{"must":"x"}', filling({ nextNumber: () => '41' }), numbered)).toMatchObject({ 0: '41' });
    expect(filled('{"must":"x","id":7}', filling(), numbered)).toMatchObject({ 0: '7' });
  });

  test('text ids are required and must be usable in a URL path', () => {
    const id: CatalogueColumn = { ...idColumn, type: 'text', default: null };
    const named = rowTable(
      { ...table.catalogue, columns: [id, ...columns.slice(1)], idColumn: id },
      wholeView,
    );
    expect(filled('{"must":"x"}', filling(), named)).toMatchObject([{ column: 'id', code: 'required' }]);
    for (const text of ['', '.', '..']) {
      const row = JSON.stringify({ must: 'x', id: text });
      expect(filled(row, filling(), named)).toMatchObject([{ column: 'id', code: 'invalid_value' }]);
    }
    expect(filled('{"must":"x","id":"..."}', filling(), named)).toMatchObject({ 0: '...' });
  });
});

describe('service columns', () => {
  test('cannot be set', () => {
    const row = '{"must":"x","created_at":"2026-01-01T00:00:00Z"}';
    expect(filled(row)).toMatchObject([{ column: 'created_at', code: 'read_only' }]);
  });

  test('the owner is the caller; only callers with access to all rows may set another', () => {
    expect(filled('{"must":"x","by":"u2"}')).toMatchObject({ 1: 'u2' });
    expect(filled('{"must":"x"}', byGrant)).toMatchObject({ 1: 'u1' });
    expect(filled('{"must":"x","by":"u1"}', byGrant)).toMatchObject({ 1: 'u1' });
    for (const by of ['"u2"', 'null', '""', '"U1"']) {
      expect(filled(`{"must":"x","by":${by}}`, byGrant)).toMatchObject([{ column: 'by', code: 'read_only' }]);
    }
  });
});

describe('changes', () => {
  const changes = (json: string) => {
    try {
      return parseChanges(table, ownersAccess, json).map(({ column, value }) => [column.name, value]);
    } catch (error) {
      if (error instanceof Failure) return error.errors?.map(({ column, code }) => [column, code]);
      throw error;
    }
  };

  test('contain exactly the columns that were sent', () => {
    expect(changes('{"may":null,"must":"y"}')).toEqual([
      ['must', 'y'],
      ['may', null],
    ]);
    expect(changes('{}')).toEqual([]);
  });

  test('cannot set the id, the owner or timestamps', () => {
    const row = '{"id":"0190a0a0-0000-7000-8000-000000000000","by":"u1","created_at":"2026-01-01T00:00:00Z"}';
    expect(changes(row)).toEqual([
      ['id', 'read_only'],
      ['by', 'read_only'],
      ['created_at', 'read_only'],
    ]);
    expect(changes('{"seven":null}')).toEqual([['seven', 'not_null']]);
    expect(changes('{"v":1}')).toEqual([['v', 'unknown_column']]);
  });
});

test('1000 consecutive versions are distinct', () => {
  const versions = Array.from({ length: 1_000 }, newVersion);
  expect(new Set(versions).size).toBe(1_000);
  for (const version of versions) expect(BigInt(version) < 2n ** 63n).toBe(true);
});
