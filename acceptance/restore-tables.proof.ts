import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openFeed } from './support/change-feed.ts';
import { run } from './support/commands.ts';
import { bearer, caller, done } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { root, startEmbedded, temporaryFolder } from './support/server.ts';

test('a restored table keeps its references, search index, files, change feed and history', async () => {
  const first = await startEmbedded({ env: { SVC_SEED: 'none' } });
  const world = await rowsWorld(first);
  const authors = await world.table(['name:text']);
  const posts = await world.table(
    ['title:text', `author:ref:${authors.name}:nullable(on_delete=set_null)`, 'photo:file:nullable'],
    { changes: true },
  );
  await done(posts.shape('PATCH', '', { history: '30d', soft_delete: '30d' }));
  await done(posts.shape('POST', '/indexes', { search: { title: 'A' } }));
  const [ada] = await authors.insert({ name: 'Ada' });
  const [ants, bees] = await posts.insert(
    { title: 'Red ants', author: ada.id },
    { title: 'Old bees', author: ada.id },
  );
  await done(posts.send('DELETE', `/${bees.id}`));
  const sign = { column: 'photo', name: 'a.txt', type: 'text/plain', size: 2 };
  const { file, put_url, headers } = await done(posts.send('POST', '/_files', sign));
  expect((await fetch(put_url, { method: 'PUT', headers, body: 'hi' })).status).toBe(201);
  await done(posts.send('PATCH', `/${ants.id}`, { photo: file.id }));
  expect(await first.stop()).toBe(0);

  const backup = join(temporaryFolder(), 'backup.tar.gz');
  const admin = (env: Record<string, string | undefined>, ...args: string[]) =>
    run([join(root, 'svc-admin'), ...args, '--json'], { env });
  expect((await admin(first.env, 'backup', '--to', backup)).code).toBe(0);
  const dataDir = join(temporaryFolder(), 'data');
  const restored = await admin({ ...first.env, SVC_DATA_DIR: dataDir }, 'restore', '--from', backup);
  expect([restored.code, restored.stderr]).toMatchObject([0, expect.not.stringContaining('rror')]);

  const second = await startEmbedded({ env: { SVC_SEED: 'none', SVC_DATA_DIR: dataDir } });
  const send = caller(second, bearer(world.owner), posts.path);
  const list = async (search: string) => (await done(send('GET', search))).data;
  expect(await list(`?search=ants`)).toMatchObject([{ title: 'Red ants', author: ada.id }]);
  expect((await send('GET', `/${ants.id}/_files/photo`)).text).toBe('hi');
  const feed = await openFeed(`${second.baseUrl}${posts.path}/_changes?snapshot=true`, bearer(world.owner));
  await feed.has('ready');
  await done(send('POST', `/${bees.id}/_restore`));
  await feed.has('insert');
  await done(caller(second, bearer(world.owner), authors.path)('DELETE', `/${ada.id}`));
  await feed.has('update', 2);
  feed.cut();
  const history = await done(send('GET', `/${ants.id}/_history`));
  expect(history.data.length).toBeGreaterThanOrEqual(3);
  await done(send('DELETE', `/${ants.id}`));
  expect((await done(send('GET', '/_trash'))).data).toMatchObject([
    { action: 'delete', before: { id: ants.id } },
  ]);
  expect(await second.stop()).toBe(0);
});
