import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { fixedKey } from '../../core/keys.ts';
import { Failure } from '../../core/problem.ts';
import { parseQuery } from './parse-query.ts';
import { createCursors, type ListPlan, planList } from './plan.ts';
import { testTable, typedColumns } from './testing.ts';

const cursors = createCursors(fixedKey('a key of the server'));
const table = testTable();
const plan = (search: string, of = table): ListPlan => planList(of, parseQuery(search, 'list'), () => []);
const sorted = plan('sort=-int,text');

function refusal(token: string, by: ListPlan = sorted, from = cursors): string {
  try {
    from.read(by.table, token, by.sort);
    return 'read';
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

describe('a cursor', () => {
  test('returns the keys it was created with', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.string({ unit: 'grapheme' })), { minLength: 3, maxLength: 3 }),
        (keys) => {
          expect(cursors.read(table, cursors.write(sorted, keys), sorted.sort)).toEqual(keys);
        },
      ),
    );
  });

  test('accepts keys of every type in the database’s text format', () => {
    const texts: Record<string, string> = {
      text: '',
      int: '-1',
      bigint: '9223372036854775807',
      float: '1e+300',
      bool: 't',
      timestamptz: '2026-01-02 03:04:05.000001+00',
      uuid: '0190a0a0-0000-7000-8000-000000000000',
      jsonb: '{"a": [1, null]}',
    };
    for (const { name } of typedColumns) {
      const by = plan(`sort=${name}`);
      const keys = [texts[name] ?? null, 'id'];
      expect(cursors.read(table, cursors.write(by, keys), by.sort)).toEqual(keys);
    }
  });

  test('needs no escaping in a URL', () => {
    expect(cursors.write(sorted, ['1', 'ä"/+&=', 'x'])).toMatch(/^[\w-]+\.[\w-]+$/);
  });

  test('is valid only for its table, columns, order and directions', () => {
    const token = cursors.write(sorted, ['1', 'a', 'b']);
    expect(refusal(token)).toBe('read');
    for (const search of [
      '',
      'sort=int,text',
      'sort=text,-int',
      'sort=-int',
      'sort=-int,text,-id',
      'sort=-int,name',
    ])
      expect([search, refusal(token, plan(search))]).toEqual([search, 'invalid_cursor']);
    const other = testTable({ id: '00000000-0000-7000-8000-000000000002' });
    expect(refusal(token, plan('sort=-int,text', other))).toBe('invalid_cursor');
  });

  test('survives a rename and a new table version, but not a new column under the old name', () => {
    const token = cursors.write(sorted, ['1', 'a', 'b']);
    const { columns } = table.catalogue;
    const changed = (to: { name?: string; physical?: string }) =>
      testTable({
        version: 9,
        columns: columns.map((column) => (column.name === 'int' ? { ...column, ...to } : column)),
      });
    expect(refusal(token, plan('sort=-number,text', changed({ name: 'number' })))).toBe('read');
    expect(refusal(token, plan('sort=-int,text', changed({ physical: 'c99' })))).toBe('invalid_cursor');
  });

  test('is refused with any character changed, removed or added', () => {
    const token = cursors.write(sorted, ['1', 'a', 'b']);
    for (let at = 0; at < token.length - 1; at++) {
      const letter = token[at] === 'A' ? 'B' : 'A';
      expect(refusal(token.slice(0, at) + letter + token.slice(at + 1))).toBe('invalid_cursor');
      expect(refusal(token.slice(0, at))).toBe('invalid_cursor');
    }
    for (const made of ['', '.', '..', 'x', `${token}.`, `${token}x`, `.${token}`, 'null', '%']) {
      expect([made, refusal(made)]).toEqual([made, 'invalid_cursor']);
    }
  });

  test('is refused if it was signed with another key', () => {
    fc.assert(fc.property(fc.string(), (text) => expect(refusal(text)).toBe('invalid_cursor')));
    const foreign = createCursors(fixedKey('another key')).write(sorted, ['1', 'a', 'b']);
    expect(refusal(foreign)).toBe('invalid_cursor');
  });
});
