import { expect, test } from 'bun:test';
import { columnTypes } from '@svc/contract/columns.ts';
import {
  filterLabel,
  formatTest,
  listSearch,
  operatorChoices,
  pageSearch,
  parseFilter,
  parseTest,
  readGridQuery,
  toggleSort,
  visibleColumns,
  whyNotFiltered,
  withoutRelated,
  writeGridQuery,
} from './grid-query.ts';

const columns = [
  { name: 'id', type: 'uuid' },
  { name: 'title', type: 'text' },
  { name: 'view', type: 'int' },
] as const;
const readQuery = (text: string) => readGridQuery(new URLSearchParams(text), columns);

test('a search leaves out orders by related rows, which the API does not combine with it', () => {
  const all = [...columns, { name: 'author.name', type: 'text' }] as const;
  const sortOf = (text: string) =>
    readGridQuery(new URLSearchParams(text), all).sort.map(({ column }) => column);
  expect(sortOf('sort=-author.name,title')).toEqual(['author.name', 'title']);
  expect(sortOf('sort=-author.name,title&search=ants')).toEqual(['title']);
});

test('the URL holds the query, also for columns named like a parameter of the console', () => {
  const query = readQuery(
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

test('a search goes along with filters, and starts at the first page', () => {
  const query = readQuery('search=tea+-pot&filter=view%3Dgt.3');
  expect(String(listSearch(query, null))).toBe('view=gt.3&_search=tea+-pot');
  const params = new URLSearchParams('search=tea&cursor=abc');
  expect(String(writeGridQuery(params, { search: 'pot' }))).toBe('search=pot');
  expect(String(writeGridQuery(params, { search: '' }))).toBe('');
});

test('unknown columns and page sizes are ignored', () => {
  const query = readQuery('filter=gone%3Deq.1&sort=gone&select=gone&per_page=7');
  expect(query).toEqual({ filters: [], search: '', sort: [], select: null, perPage: 50, cursor: null });
});

test('a new filter starts at the first page and keeps other parameters', () => {
  const before = new URLSearchParams('view=data&filter=view%3Dgt.3&cursor=abc&sort=title');
  const after = writeGridQuery(before, { filters: [{ column: 'title', text: 'eq.x' }] });
  expect(String(after)).toBe('view=data&sort=title&filter=title%3Deq.x');
});

test('columns of related rows are for filters and sorts, and left out where one table is read', () => {
  const related = [...columns, { name: 'author.name', type: 'text' } as const];
  const text = 'filter=author.name%3Deq.Ada&filter=view%3Dgt.3&sort=author.name,-view';
  const query = readGridQuery(new URLSearchParams(text), related);
  expect(String(pageSearch(query, columns))).toBe(
    'author.name=eq.Ada&view=gt.3&sort=author.name%2C-view&per_page=50',
  );
  expect(whyNotFiltered(query)).toContain('Remove the filter on author.name');
  const own = withoutRelated(query);
  expect(String(listSearch(own, null))).toBe('view=gt.3&sort=-view');
  expect(whyNotFiltered(own)).toBeNull();
  expect(readQuery(text)).toEqual(own);
});

test('the id is selected even if it is hidden', () => {
  const query = readQuery('select=title');
  expect(visibleColumns(columns, query).map(({ name }) => name)).toEqual(['title']);
  expect(pageSearch(query, visibleColumns(columns, query)).get('select')).toBe('id,title');
  expect(String(listSearch(query, null))).toBe('');
});

test('a header cycles through ascending, descending and off', () => {
  const up = toggleSort([], 'title', 'alone');
  expect(up).toEqual([{ column: 'title', descending: false }]);
  const down = toggleSort(up, 'title', 'alone');
  expect(down).toEqual([{ column: 'title', descending: true }]);
  expect(toggleSort(down, 'title', 'alone')).toEqual([]);
  expect(toggleSort(up, 'view', 'added')).toEqual([...up, { column: 'view', descending: false }]);
  expect(toggleSort(up, 'view', 'alone')).toEqual([{ column: 'view', descending: false }]);
});

test('every condition round-trips through its text', () => {
  for (const type of columnTypes) {
    for (const { op, hint } of operatorChoices(type)) {
      const filter = { op, value: hint === undefined ? '' : op === '' ? 'not.eq.a.b' : 'a.b=c' };
      expect([type, op, parseTest(type, formatTest(type, filter))]).toEqual([type, op, filter]);
    }
  }
});

test('a value may contain dots, equal signs and operator names', () => {
  expect(parseFilter('note=eq.a=b.c')).toEqual({ column: 'note', text: 'eq.a=b.c' });
  expect(parseTest('text', 'eq.gt.3')).toEqual({ op: 'eq', value: 'gt.3' });
  expect(parseFilter('=eq.1')).toBeNull();
});

test('a bare value means equality, unknown conditions stay unchanged', () => {
  expect(parseTest('text', 'open')).toEqual({ op: 'eq', value: 'open' });
  expect(parseTest('text', 'version 1.2')).toEqual({ op: 'eq', value: 'version 1.2' });
  expect(parseTest('text', 'not.like.a*')).toEqual({ op: '', value: 'not.like.a*' });
  expect(parseTest('int', 'like.a*')).toEqual({ op: '', value: 'like.a*' });
});

test('a filter has a readable label', () => {
  expect(filterLabel('text', { column: 'title', text: 'ihas.milk' })).toBe('title contains milk');
  expect(filterLabel('int', { column: 'age', text: 'is.null' })).toBe('age is null');
  expect(filterLabel('text', { column: 'title', text: 'not.like.a*' })).toBe('title not.like.a*');
});
