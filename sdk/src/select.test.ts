import { expect, test } from 'bun:test';
import { createClient } from './client.ts';

type Database = {
  authors: {
    Row: { id: string; name: string };
    Insert: { name: string };
    Update: { name?: string };
    Relations: {
      posts: { kind: 'many'; to: Database['posts'] };
      'mails!sender': { kind: 'many'; to: Database['posts'] };
    };
  };
  posts: {
    Row: { id: number; title: string; author: string | null };
    Insert: { title: string };
    Update: { title?: string };
    Relations: { author: { kind: 'one'; to: Database['authors'] } };
  };
};

const asked: URL[] = [];
const options = {
  baseUrl: 'http://svc.test',
  tenant: 'acme',
  app: 'blog',
  auth: { apiKey: 'key' },
  fetch: async (url: string) => {
    asked.push(new URL(url));
    return Response.json({ data: [], page: 1, per_page: 50, has_more: false, next_cursor: null, count: 0 });
  },
};

type Same<A, B> = [A, B] extends [B, A] ? true : false;
const isSame = <T extends true>(same: T) => same;

test('related rows are selected by objects, and have the types of their tables', async () => {
  const { table } = createClient<Database>(options);
  const posts = table('posts').select('title', { author: ['name', { n: 'id' }] });
  const { data } = await posts
    .related('author', { limit: 3, sort: ['-name'] })
    .where('author.name', 'eq', 'Ada')
    .sort('-author.name')
    .list();
  isSame<Same<(typeof data)[number], { title: string; author: { name: string; n: string } | null }>>(true);
  expect([...(asked.at(-1)?.searchParams ?? [])]).toEqual([
    ['author.name', 'eq.Ada'],
    ['select', 'title,author(name,n:id)'],
    ['sort', '-author.name'],
    ['author.sort', '-name'],
    ['author._limit', '3'],
  ]);
  const deep = await table('authors')
    .select('*', { posts: ['id', { 'by:author!inner': ['name'] }], 'sent:mails!sender': ['title'] })
    .first();
  isSame<
    Same<
      NonNullable<typeof deep>,
      { id: string; name: string; posts: { id: number; by: { name: string } }[]; sent: { title: string }[] }
    >
  >(true);
  const star = await table('posts')
    .select('*', { author: ['*'] })
    .first();
  isSame<Same<NonNullable<typeof star>['author'], { id: string; name: string } | null>>(true);
  // @ts-expect-error: not a column.
  table('posts').select('nope');
});

test('a count asks for what decides on the rows, and tables that nobody described take any name', async () => {
  const { table } = createClient(options);
  const { data } = await table('posts')
    .select('title', { 'author!inner': ['name'] })
    .list();
  expect(data.map((row) => row.author.name)).toEqual([]);
  await table('posts').select('title', { 'author!inner': [] }).count();
  expect(asked.at(-1)?.search).toBe('?select=title%2Cauthor%21inner%28%29');
});
