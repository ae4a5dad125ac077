import { bearer, caller, done } from './people.ts';
import type { RowsWorld } from './rows.ts';

/** Authors, posts and comments of a blog, as the owner sees them. */
export async function newBlog(
  { owner, server, tables, data }: RowsWorld,
  access: Record<string, unknown> = {},
) {
  const create = (name: string, columns: string[]) =>
    done(owner.call('POST', tables, { name, columns, ...(access[name] ? { access: access[name] } : {}) }));
  await create('authors', ['name:text', 'born:date:nullable']);
  await create('posts', ['title:text', 'author:ref:authors:nullable', 'stars:int:0']);
  await create('comments', [
    'post:ref:posts(on_delete=cascade)',
    'writer:ref:authors:nullable(on_delete=set_null)',
    'body:text',
    'likes:int:0',
  ]);
  const insert = async (table: string, row: object) =>
    (await done(owner.call('POST', `${data}/${table}`, row))).id;
  const authors: Record<string, string> = {};
  for (const row of [{ name: 'Ada', born: '1815-12-10' }, { name: 'Bob' }, { name: 'Cem' }])
    authors[row.name] = await insert('authors', row);
  const { Ada = '', Bob = '' } = authors;
  const posts: Record<string, string> = {};
  for (const [title, author] of [
    ['Ants', Ada],
    ['Bees', Bob],
    ['Cats', Ada],
    ['Dogs', null],
  ] as const)
    posts[title] = await insert('posts', { title, author });
  const comments = [
    { post: posts.Ants, writer: Bob, body: 'first', likes: 1 },
    { post: posts.Ants, writer: Ada, body: 'second', likes: 2 },
    { post: posts.Ants, writer: Bob, body: 'third', likes: 3 },
    { post: posts.Cats, writer: null, body: 'fourth', likes: 4 },
  ];
  for (const comment of comments) await insert('comments', comment);
  const call = caller(server, bearer(owner), data);
  return {
    authors,
    posts,
    get: (table: string, search = '') => done(call('GET', `/${table}?${search}`)),
    fetch: (path: string, search = '', headers: Record<string, string> = {}) =>
      call('GET', `/${path}?${search}`, undefined, headers),
  };
}
