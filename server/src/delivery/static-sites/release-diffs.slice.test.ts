import { expect, test } from 'bun:test';
import { releaseTextBytesMax } from '@svc/contract/static-sites.ts';
import { newSiteEnv, useSiteServer, type Who } from './testing.ts';

const shared = useSiteServer();

test('a release is compared by digests with the active one or any other', async () => {
  const { call, release, move } = await newSiteEnv(shared.database, shared.server);
  const first = await release({ 'a.html': 'a', 'b.html': 'b', 'gone.html': 'gone' });
  const second = await release({ 'a.html': 'a', 'b.html': 'B', 'new.html': 'new' });
  const diff = async (query = '', who: Who = 'owner') =>
    (await call('GET', `/releases/${second}/diff${query}`, undefined, who)).body;
  expect(await diff()).toMatchObject({
    against: null,
    counts: { added: 3, removed: 0, changed: 0, same: 0 },
  });
  await move(first, 'activate');
  const body = await diff('', 'admin');
  expect(body).toMatchObject({
    against: first,
    total: 4,
    counts: { added: 1, removed: 1, changed: 1, same: 1 },
  });
  const each = body.items.map((item: Record<string, unknown>) => [item.path, item.change]);
  expect(each).toEqual([
    ['a.html', 'same'],
    ['b.html', 'changed'],
    ['gone.html', 'removed'],
    ['new.html', 'added'],
  ]);
  expect(body.items[1]).toMatchObject({ size: 1, before_size: 1 });
  expect(body.items[2]).toMatchObject({ sha256: null, size: null, before_size: 4 });
  const page = await diff('?change=different&per_page=2&page=2');
  expect([page.total, page.items.length, page.items[0].path]).toEqual([3, 1, 'new.html']);
  expect(await diff(`?against=${second}`)).toMatchObject({
    counts: { added: 0, removed: 0, changed: 0, same: 3 },
  });
});

test('releases of another site cannot be compared', async () => {
  const [here, there] = [
    await newSiteEnv(shared.database, shared.server),
    await newSiteEnv(shared.database, shared.server),
  ];
  const [own, foreign] = [await here.release({ a: 'a' }), await there.release({ a: 'b' })];
  const answers = [
    await here.call('GET', `/releases/${own}/diff?against=${foreign}`),
    await here.call('GET', `/releases/${foreign}/diff`),
    await here.call('GET', `/releases/${foreign}/file?path=a`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
});

test('owners can read every text file; binary and long files have no text', async () => {
  const { call, release } = await newSiteEnv(shared.database, shared.server);
  const long = 'x'.repeat(releaseTextBytesMax + 1);
  const id = await release({ 'a b/ü.html': '<b>\ufeffü</b>', 'odd.bin': 'a\0b', 'long.txt': long });
  const file = async (path: string) =>
    (await call('GET', `/releases/${id}/file?path=${encodeURIComponent(path)}`)).body;
  expect(await file('a b/ü.html')).toMatchObject({ path: 'a b/ü.html', size: 12, text: '<b>\ufeffü</b>' });
  expect(await file('odd.bin')).toMatchObject({ size: 3, text: null });
  expect(await file('long.txt')).toMatchObject({ size: releaseTextBytesMax + 1, text: null });
  expect(await file('absent.html')).toMatchObject({ status: 404 });
  expect(await file('a\0b')).toMatchObject({ status: 400, errors: [{ field: 'path' }] });
});

test('admins can read files of staged releases and those visible beyond the owners', async () => {
  const { call, release, move } = await newSiteEnv(shared.database, shared.server, { visibility: 'public' });
  const [staged, kept] = [await release({ 'index.html': 'one' }), await release({ 'index.html': 'two' })];
  const read = async (id: string, who: Who) =>
    (await call('GET', `/releases/${id}/file?path=index.html`, undefined, who)).status;
  expect([await read(staged, 'admin'), await read(staged, 'coOwner')]).toEqual([403, 200]);
  await call('POST', '/site/staging/enable');
  await move(staged, 'stage');
  expect([await read(staged, 'admin'), await read(kept, 'admin')]).toEqual([200, 403]);
  await move(staged, 'promote-request');
  await move(staged, 'promote-approve', 'admin');
  await move(kept, 'stage');
  expect([await read(staged, 'admin'), await read(kept, 'admin')]).toEqual([200, 200]);
  await call('POST', '/site/staging/disable');
  expect([await read(staged, 'admin'), await read(kept, 'admin')]).toEqual([200, 403]);
  expect(await read(staged, 'member')).toBe(403);
});
