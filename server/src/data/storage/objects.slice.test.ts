import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { codeOf, sum, useStorage } from './testing.ts';

const { database, server, newStorageApp, upload, blobs, runEffects } = useStorage();

test('an uploaded object is listed, counted and downloaded unchanged', async () => {
  const { call, put, urlOf, keys } = await newStorageApp();
  const stored = await put('a/b c.txt', 'hello');
  expect([stored.status, await stored.json()]).toEqual([
    201,
    { key: 'a/b c.txt', size: 5, sha256: sum('hello'), content_type: 'text/plain' },
  ]);
  expect(await keys()).toEqual(['a/b c.txt']);
  expect((await call('GET', '')).body).toMatchObject({ enabled: true, objects: 1, bytes: 5 });
  const got = await server.use(await urlOf('a/b c.txt'));
  expect([got.status, await got.text()]).toEqual([200, 'hello']);
  expect(Object.fromEntries(got.headers)).toMatchObject({
    'content-type': 'text/plain',
    'content-length': '5',
    'content-disposition': "attachment; filename*=UTF-8''b%20c.txt",
    'content-security-policy': "default-src 'none'; sandbox",
    etag: `"${sum('hello')}"`,
  });
});

test('ranges, conditional requests and HEAD follow HTTP', async () => {
  const { put, urlOf } = await newStorageApp();
  await put('k', '0123456789');
  const url = await urlOf('k');
  const ask = async (headers: Record<string, string>, method = 'GET') => {
    const answer = await server.use(url, { method, headers });
    return [
      answer.status,
      answer.headers.get('content-range'),
      answer.status < 400 ? await answer.text() : '',
    ];
  };
  const etag = `"${sum('0123456789')}"`;
  expect(await ask({ range: 'bytes=2-4' })).toEqual([206, 'bytes 2-4/10', '234']);
  expect(await ask({ range: 'bytes=8-' })).toEqual([206, 'bytes 8-9/10', '89']);
  expect(await ask({ range: 'bytes=-3' })).toEqual([206, 'bytes 7-9/10', '789']);
  expect(await ask({ range: 'bytes=5-999' })).toEqual([206, 'bytes 5-9/10', '56789']);
  expect(await ask({ range: 'bytes=10-' })).toEqual([416, 'bytes */10', '']);
  expect(await ask({ range: 'bytes=-0' })).toEqual([416, 'bytes */10', '']);
  for (const range of ['bytes=4-2', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=-'])
    expect([range, await ask({ range })]).toEqual([range, [200, null, '0123456789']]);
  expect(await ask({ range: 'bytes=0-0', 'if-range': etag })).toEqual([206, 'bytes 0-0/10', '0']);
  expect(await ask({ range: 'bytes=0-0', 'if-range': '"other"' })).toEqual([200, null, '0123456789']);
  expect(await ask({ 'if-none-match': `"x", ${etag}` })).toEqual([304, null, '']);
  const head = await server.use(url, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
});

test('a copy keeps its bytes when the original is deleted', async () => {
  const { call, put, urlOf, ref, remove } = await newStorageApp();
  await put('a', 'bytes', 'text/css');
  const copied = await call('POST', '/copy', { from: 'a', to: 'b' });
  expect(copied.body).toMatchObject({ key: 'b', size: 5, content_type: 'text/css', sha256: sum('bytes') });
  expect((await call('POST', '/copy', { from: 'a', to: 'b' })).body.changed).toBe(false);
  expect((await call('POST', '/copy', { from: 'a', to: 'a' })).body.changed).toBe(false);
  expect((await call('POST', '/copy', { from: 'none', to: 'c' })).body.code).toBe('not_found');
  await remove('a');
  await runEffects(ref);
  expect(await (await server.use(await urlOf('b'))).text()).toBe('bytes');
  expect((await call('GET', '')).body).toMatchObject({ objects: 1, bytes: 5 });
  await remove('b');
  expect((await call('DELETE', '/objects?key=b')).body.code).toBe('not_found');
  await runEffects(ref);
  expect(await blobs(ref)).toEqual([]);
  expect((await call('GET', '')).body).toMatchObject({ objects: 0, bytes: 0 });
});

test('an archived app is read-only, and requests without storage answer storage_not_enabled', async () => {
  const { call, put, urlOf, sign, app } = await newStorageApp();
  await put('k', 'x');
  const write = await sign({ key: 'k' });
  await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);
  expect((await call('GET', '/objects')).status).toBe(200);
  expect(await codeOf(server.use(await urlOf('k')))).toBe('200');
  for (const answer of [
    call('POST', '/enable'),
    call('POST', '/upload-url', { key: 'k' }),
    call('POST', '/copy', { from: 'k', to: 'l' }),
    call('DELETE', '/objects?key=k'),
  ])
    expect((await answer).body.code).toBe('app_not_active');
  expect(await codeOf(upload(write, 'y'))).toBe('app_not_active');

  const bare = await newStorageApp();
  await sql`delete from svc.app_storage where app_id = ${bare.app.id}`.execute(database.db);
  expect((await bare.call('GET', '')).body).toMatchObject({ enabled: false, enabled_at: null, objects: 0 });
  for (const answer of [
    bare.call('GET', '/objects'),
    bare.call('GET', '/url?key=k'),
    bare.call('POST', '/upload-url', { key: 'k' }),
    bare.call('POST', '/copy', { from: 'k', to: 'l' }),
    bare.call('DELETE', '/objects?key=k'),
  ])
    expect((await answer).body.code).toBe('storage_not_enabled');
});

test('enabling again changes nothing and reports changed: false', async () => {
  const { call, tenant } = await newStorageApp();
  const { body } = await call('POST', '/enable');
  expect(body).toMatchObject({ enabled: true, changed: false });
  const { rows } = await sql`select 1 from svc.audit_entries
    where tenant_id = ${tenant.id} and action = 'storage.enable'`.execute(database.db);
  expect(rows).toHaveLength(1);
});

test('uploads, copies and deletions are audited as the user who signed the URL', async () => {
  const { call, put, tenant, owner } = await newStorageApp();
  await put('a', 'one');
  await put('a', 'three');
  await call('POST', '/copy', { from: 'a', to: 'b' });
  await call('DELETE', '/objects?key=a');
  const { rows } = await sql<{ action: string; actor: string; name: string }>`
    select action, actor_id as actor, target_name as name from svc.audit_entries
    where tenant_id = ${tenant.id} and action like 'storage.%' order by seq`.execute(database.db);
  expect(rows.map(({ action, name }) => `${action} ${name}`).slice(1)).toEqual([
    'storage.signUpload a',
    'storage.put a',
    'storage.signUpload a',
    'storage.put a',
    'storage.copy b',
    'storage.delete a',
  ]);
  expect(new Set(rows.map(({ actor }) => actor))).toEqual(new Set([owner.userId]));
});
