import { expect, spyOn, test } from 'bun:test';
import type { VisibleColumn } from '../use-table.ts';
import {
  fetchLabelled,
  findRelations,
  labelColumn,
  relatedColumns,
  splitLabels,
  withLabels,
} from './relations.ts';

const column = (name: string, type: string, more: Partial<VisibleColumn> = {}) =>
  ({ name, type, ...more }) as VisibleColumn;
const authors = [column('id', 'uuid'), column('born', 'date'), column('name', 'text'), column('bio', 'text')];
const posts = [column('id', 'uuid'), column('title', 'text'), column('author', 'uuid', { ref: 'authors' })];

test('the first text that the reader sees as it is names a row', () => {
  expect(labelColumn(authors)).toBe('name');
  const masked = authors.map((each) => (each.name === 'name' ? { ...each, mask: 'hash' } : each));
  expect(labelColumn(masked)).toBe('bio');
  expect(labelColumn([column('id', 'text'), column('n', 'int')])).toBeNull();
});

test('a reference relates rows where the reader sees it and the id that it refers to', () => {
  const relation = { column: 'author', table: 'authors', label: 'name', columns: authors };
  const readable = new Map([['authors', authors]]);
  expect(findRelations(posts, readable)).toEqual([relation]);
  expect(relatedColumns([relation]).map(({ name }) => name)).toEqual([
    'author.born',
    'author.name',
    'author.bio',
  ]);
  expect(findRelations(posts, new Map([['authors', []]]))).toEqual([]);
  expect(findRelations(posts, new Map())).toEqual([]);
  const maskedIds = authors.map((each) => ({ ...each, mask: 'hash' }));
  expect(findRelations(posts, new Map([['authors', maskedIds]]))).toEqual([]);
  const maskedColumn = posts.map((each) => ({ ...each, mask: 'hash' }));
  expect(findRelations(maskedColumn, readable)).toEqual([]);
});

test('labels are part of the request and no part of the rows', () => {
  const relations = [{ column: 'author', table: 'authors', label: 'name', columns: authors }];
  const search = new URLSearchParams('title=eq.Ants');
  expect(withLabels(search, relations).get('select')).toBe('*,L0:author(name)');
  search.set('select', 'id,author');
  expect(withLabels(search, relations).get('select')).toBe('id,author,L0:author(name)');
  const row = (author: string, related: string) =>
    new Map([
      ['author', author],
      ['L0', related],
    ]);
  const { rows, labels } = splitLabels(
    [row('"a1"', '{"name":"Ada \\"A\\""}'), row('"a2"', 'null'), row('null', 'null')],
    relations,
  );
  expect(rows.map((each) => [...each])).toEqual([
    [['author', '"a1"']],
    [['author', '"a2"']],
    [['author', 'null']],
  ]);
  expect([...labels]).toEqual([['authors a1', 'Ada "A"']]);
});

test('a page without labels is read where access to related rows has ended meanwhile', async () => {
  const relations = [{ column: 'author', table: 'authors', label: 'name', columns: authors }];
  const asked: string[] = [];
  const answer = (url: string) => {
    asked.push(decodeURIComponent(url));
    if (url.includes('L0')) {
      const problem = {
        title: 'Unknown column',
        status: 400,
        code: 'unknown_column',
        detail: 'author',
        request_id: '1',
      };
      return Response.json(problem, { status: 400, headers: { 'content-type': 'application/problem+json' } });
    }
    return Response.json({ data: [{ id: 1, author: 2 }], next_cursor: null });
  };
  const fetching = spyOn(globalThis, 'fetch').mockImplementation((async (url: string) =>
    answer(url)) as typeof fetch);
  try {
    const page = await fetchLabelled('/data/posts', new URLSearchParams('sort=id'), relations);
    expect([page.rows.map((row) => row.get('author')), page.labels.size]).toEqual([['2'], 0]);
    expect(asked).toEqual(['/data/posts?sort=id&select=*,L0:author(name)', '/data/posts?sort=id']);
  } finally {
    fetching.mockRestore();
  }
});
