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
    Relations: {
      author: { kind: 'one'; to: Database['authors'] };
      comments: { kind: 'many'; to: Database['comments'] };
    };
  };
  comments: {
    Row: { id: number; body: string; likes: number; post: number };
    Insert: { body: string };
    Update: { body?: string };
    Relations: { post: { kind: 'one'; to: Database['posts'] } };
  };
  tags: {
    Row: { id: number };
    Insert: { id: number };
    Update: { id?: number };
    Relations: Record<never, never>;
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
    const body = { data: [], page: 1, per_page: 50, has_more: false, next_cursor: null, count: 0 };
    return Response.json(body, { headers: { etag: '"1"' } });
  },
};

type Same<A, B> = [A, B] extends [B, A] ? true : false;
const isSame = <T extends true>(same: T) => same;
const lastQuery = () => [...(asked.at(-1)?.searchParams ?? [])];

test('related rows are selected by objects, and have the types of their tables', async () => {
  const { table } = createClient<Database>(options);
  const posts = table('posts').select('title', { author: ['name', { n: 'id' }] });
  const { data } = await posts.where('author.name', 'eq', 'Ada').sort('-author.name').list();
  isSame<Same<(typeof data)[number], { title: string; author: { name: string; n: string } | null }>>(true);
  expect(lastQuery()).toEqual([
    ['author.name', 'eq.Ada'],
    ['select', 'title,author(name,n:id)'],
    ['sort', '-author.name'],
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
  // @ts-expect-error: not a relation.
  table('posts').select('title', { nope: ['id'] });
  // @ts-expect-error: not a column of the author.
  table('posts').select({ author: ['title'] });
  // @ts-expect-error: not a relation of the comments.
  table('posts').select({ comments: ['id', { 'by:author': ['name'] }] });
  // @ts-expect-error: not a column under another name.
  table('posts').select({ heading: 'nope' });
});

test('conditions and orders name related rows and their columns, with the types of these', async () => {
  const { table } = createClient<Database>(options);
  const posts = table('posts');
  await posts
    .select('title', { comments: ['id'], 'by:author': ['name'] })
    .related('comments', { sort: ['-likes', 'post.author.name'], limit: 2 })
    .gt('comments.likes', 1)
    .is('comments', 'not_null')
    .or([
      ['by.name', 'eq', 'Ada'],
      { and: [['comments', 'not.is', null]] },
      ['author.name', 'in', ['Bob', 'Cem']],
    ])
    .is('by.name', 'not_null')
    .sort('-by.name', 'title')
    .list();
  expect(lastQuery()).toEqual([
    ['comments.likes', 'gt.1'],
    ['comments', 'is.not_null'],
    ['or', '(by.name.eq.Ada,and(comments.not.is.null),author.name.in.(Bob,Cem))'],
    ['by.name', 'is.not_null'],
    ['select', 'title,comments(id),by:author(name)'],
    ['sort', '-by.name,title'],
    ['comments.sort', '-likes,post.author.name'],
    ['comments._limit', '2'],
  ]);
  await table('authors')
    .select({ 'sent:mails!sender': ['title', { 'remarks:comments': ['id'] }] })
    .related('sent.remarks', { sort: ['body'] })
    .is('sent', null)
    .like('sent.remarks.body', 'A%')
    .list();
  expect(lastQuery().map(([name]) => name)).toEqual([
    'sent',
    'sent.remarks.body',
    'select',
    'sent.remarks.sort',
  ]);
  const comments = table('comments')
    .eq('post.author.name', 'Ada')
    .or([['post.author.name', 'eq', 'Ada']]);
  await comments.sort('post.author.name').list();
  expect(lastQuery()[0]).toEqual(['post.author.name', 'eq.Ada']);
  // @ts-expect-error: neither a column nor a relation.
  posts.is('nope', null);
  // @ts-expect-error: rows are there or not.
  posts.is('comments', true);
  // @ts-expect-error: needs an alias in select.
  table('authors').is('mails!sender', null);
  // @ts-expect-error: not a column of the author.
  posts.eq('author.title', 'x');
  // @ts-expect-error: the name of the author is a text.
  posts.eq('author.name', 5);
  // @ts-expect-error: so it is for where.
  posts.where('author.name', 'eq', 5);
  // @ts-expect-error: not a column of the author of the post.
  table('comments').eq('post.author.title', 'x');
  // @ts-expect-error: not a column of the author of the post.
  table('comments').like('post.author.title', 'x');
  // @ts-expect-error: not a relation of the author of the post.
  table('comments').eq('post.author.nope.title', 'x');
  // @ts-expect-error: not a column of the author.
  posts.is('author.title', null);
  // @ts-expect-error: not a relation of the post.
  table('comments').sort('post.nope.name');
  // @ts-expect-error: not a column of the author.
  posts.or([['author.title', 'eq', 'x']]);
  // @ts-expect-error: the name of the author is a text.
  posts.or([['author.name', 'eq', 5]]);
  // @ts-expect-error: comments are several rows.
  posts.or([['comments.likes', 'eq', 5]]);
  // @ts-expect-error: comments are several rows.
  posts.sort('comments.likes');
  // @ts-expect-error: not a column of the author.
  posts.sort('-author.title');
  // @ts-expect-error: not a column of the comments.
  posts.related('comments', { sort: ['title'] });
  // @ts-expect-error: one row has no order.
  posts.related('author', { limit: 1 });
  // @ts-expect-error: not a relation.
  posts.related('nope', { limit: 1 });
  // @ts-expect-error: no relations are known to be none.
  table('tags').eq('nope.name', 'x');
});

test('one row is read with the columns and the related rows that are selected', async () => {
  const { table } = createClient<Database>(options);
  const { row, etag } = await table('posts').get(7, { select: ['title', { author: ['name'] }] });
  isSame<Same<typeof row, { title: string; author: { name: string } | null }>>(true);
  expect([etag, asked.at(-1)?.pathname, lastQuery()]).toEqual([
    '"1"',
    '/data/acme/blog/posts/7',
    [['select', 'title,author(name)']],
  ]);
  const whole = await table('posts').get(7);
  isSame<Same<typeof whole.row, Database['posts']['Row']>>(true);
  expect(lastQuery()).toEqual([]);
  // @ts-expect-error: not a column of the author.
  const wrong = () => table('posts').get(7, { select: [{ author: ['title'] }] });
  expect(typeof wrong).toBe('function');
});

test('a count asks for what decides on the rows, and tables that nobody described take any name', async () => {
  const { table } = createClient(options);
  const { data } = await table('posts')
    .select('title', { 'author!inner': ['name'] })
    .list();
  expect(data.map((row) => row.author.name)).toEqual([]);
  await table('posts').select('title', { 'author!inner': [] }).count();
  expect(asked.at(-1)?.search).toBe('?select=title%2Cauthor%21inner%28%29');
  const value: unknown = 'Ada';
  await table('posts')
    .related('comments', { sort: ['-writer.name'] })
    .is('comments', null)
    .or([['author.name', 'eq', 'Ada']])
    .sort('-author.name')
    .list();
  await table<{ id: number }>('posts')
    .where('author.name', 'eq', value)
    .or([
      ['author.name', 'eq', 'Ada'],
      ['id', 'gt', 1],
    ])
    .sort('-author.name', 'id')
    .list();
  expect(lastQuery().map(([name]) => name)).toEqual(['author.name', 'or', 'sort']);
  // @ts-expect-error: not a column.
  table<{ id: number }>('posts').eq('nope', 1);
});
