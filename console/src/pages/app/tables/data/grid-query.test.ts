import { expect, test } from 'bun:test';
import {
  listSearch,
  pageSearch,
  readGridQuery,
  shownColumns,
  sortedBy,
  writeGridQuery,
} from './grid-query.ts';

const columns = [
  { name: 'id', type: 'uuid' },
  { name: 'title', type: 'text' },
  { name: 'view', type: 'int' },
] as const;
const read = (text: string) => readGridQuery(new URLSearchParams(text), columns);

test('an address says what is shown, also of a column that is called like a word of the console', () => {
  const query = read(
    'view=data&filter=view%3Dgt.3&filter=title%3Dihas.a&sort=-view,title&per_page=100&cursor=abc',
  );
  expect(query.filters).toEqual([
    { column: 'view', text: 'gt.3' },
    { column: 'title', text: 'ihas.a' },
  ]);
  expect(String(pageSearch(query, columns))).toBe(
    'view=gt.3&title=ihas.a&sort=-view%2Ctitle&per_page=100&cursor=abc',
  );
});

test('what the table does not have is left out, and a page is as long as one may choose', () => {
  const query = read('filter=gone%3Deq.1&sort=gone&select=gone&per_page=7');
  expect(query).toEqual({ filters: [], sort: [], select: null, perPage: 50, cursor: null });
});

test('another filter begins at the first page and keeps the rest of the address', () => {
  const before = new URLSearchParams('view=data&filter=view%3Dgt.3&cursor=abc&sort=title');
  const after = writeGridQuery(before, { filters: [{ column: 'title', text: 'eq.x' }] });
  expect(String(after)).toBe('view=data&sort=title&filter=title%3Deq.x');
});

test('the id is asked for even where it is not shown', () => {
  const query = read('select=title');
  expect(shownColumns(columns, query).map(({ name }) => name)).toEqual(['title']);
  expect(pageSearch(query, shownColumns(columns, query)).get('select')).toBe('id,title');
  expect(String(listSearch(query, null))).toBe('');
});

test('a header sorts up, then down, then not at all', () => {
  const up = sortedBy([], 'title', 'alone');
  expect(up).toEqual([{ column: 'title', descending: false }]);
  const down = sortedBy(up, 'title', 'alone');
  expect(down).toEqual([{ column: 'title', descending: true }]);
  expect(sortedBy(down, 'title', 'alone')).toEqual([]);
  expect(sortedBy(up, 'view', 'added')).toEqual([...up, { column: 'view', descending: false }]);
  expect(sortedBy(up, 'view', 'alone')).toEqual([{ column: 'view', descending: false }]);
});
