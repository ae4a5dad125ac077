import { expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { isOnCitus } from './support/citus.ts';
import { done } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';

const world = useFixture(rowsWorld);

test.skipIf(isOnCitus)(
  'a row with searched words, a reference and a file is restored with all of them',
  async () => {
    const authors = await world.table(['name:text']);
    const columns = ['title:text', `author:ref:${authors.name}:nullable`, 'photo:file:nullable'];
    const posts = await world.table(columns, { history: '30d', soft_delete: '30d', changes: true });
    await done(posts.shape('POST', '/indexes', { search: { title: 'A' }, language: 'english' }));
    const [ada] = await authors.insert({ name: 'Ada' });
    const announced = { column: 'photo', name: 'a.txt', type: 'text/plain', size: 3 };
    const { file, put_url, headers } = await done(posts.send('POST', '/_files', announced));
    expect((await fetch(put_url, { method: 'PUT', headers, body: 'abc' })).status).toBe(201);
    const [post] = await posts.insert({ title: 'Brewing tea', author: ada.id, photo: file });
    await done(posts.send('DELETE', `/${post.id}`));
    expect(await posts.list('?search=brew')).toEqual([]);
    const { data } = await done(posts.send('GET', '/_trash'));
    expect(data).toMatchObject([{ before: { title: 'Brewing tea', author: ada.id, photo: file } }]);
    expect(await done(posts.send('POST', `/${post.id}/_restore`, {}))).toEqual({
      restored: 1,
      ids: [post.id],
    });
    expect((await done(posts.send('GET', '/_trash'))).data).toEqual([]);
    expect(await posts.list('?search=brew')).toMatchObject([{ id: post.id, photo: file }]);
    expect(await posts.list('?select=author(name)')).toEqual([{ author: { name: 'Ada' } }]);
    const { status } = await posts.send('GET', `/${post.id}/_files/photo`);
    expect(status).toBe(200);
  },
);
