import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { storageBytesMax } from '@svc/contract/storage.ts';
import { sql } from 'kysely';
import { removeCoOwner } from '../apps/remove-co-owner.ts';
import { newApp } from '../apps/testing.ts';
import { heardAfterMs, loginOf } from '../identity/testing.ts';
import type { Db } from '../plumbing/db.ts';
import { readUrlToken, signUrlToken } from '../plumbing/signed-url.ts';
import { appTag } from '../tables/catalogue.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { suspendUser } from '../users/suspend-user.ts';
import { deleteObject } from './delete-object.ts';
import { removeBlob } from './discard-blob.ts';
import { forgetUploads } from './forget-uploads.ts';
import type { ObjectClaims } from './object-url.ts';
import { purgeStorage, removeObjectsOfApp } from './purge-storage.ts';
import { blobPrefix } from './rules.ts';
import { copyWithStorage, type StorageCopy, testUrlKey } from './testing.ts';

let database: TestDatabase;
let db: Db;
let server: StorageCopy;

beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  server = await copyWithStorage(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

/** A private app with storage; calls are the owner's unless told otherwise. */
async function world() {
  const { tenant, admin } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const place = { tenantId: tenant.id, appId: app.id };
  const logins = { owner: await loginOf(database, owner), coOwner: await loginOf(database, coOwner) };
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}/storage`;
  const call = (method: string, below: string, body?: unknown, by: keyof typeof logins = 'owner') =>
    server.call(logins[by], method, `${path}${below}`, body);
  expect((await call('POST', '/enable')).status).toBe(200);
  const sign = async (
    body: { key: string; content_type?: string; size?: number },
    by?: keyof typeof logins,
  ) => {
    const { status, body: answer } = await call('POST', '/upload-url', body, by);
    expect([status, answer]).toEqual([200, answer]);
    return answer.put_url as string;
  };
  const put = async (key: string, body: string, type = 'text/plain') =>
    upload(await sign({ key, content_type: type }), body, { 'content-type': type });
  const urlOf = async (key: string, by?: keyof typeof logins) =>
    (await call('GET', `/url?key=${encodeURIComponent(key)}`, undefined, by)).body.url as string;
  const keys = async () =>
    (await call('GET', '/objects')).body.items.map(({ key }: { key: string }) => key) as string[];
  // Not over HTTP, where a copy of the server for tests queues nothing.
  const remove = (key: string) =>
    testMutation(db, owner, (ctx) => deleteObject(ctx, { key }), { context: { tenant, app } });
  return { tenant, admin, owner, coOwner, app, place, call, sign, put, urlOf, keys, remove };
}

const octets = { 'content-type': 'application/octet-stream' };
const upload = (url: string, body: BodyInit, headers: Record<string, string> = octets) =>
  server.use(url, { method: 'PUT', body, headers });
const sum = (text: string) => createHash('sha256').update(text).digest('hex');

async function codeOf(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  if (response.status < 400) return String(response.status);
  return ((await response.json()) as { code: string }).code;
}

async function blobs(place: { tenantId: string; appId: string }): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of server.objects.list(blobPrefix(place))) found.push(key);
  return found;
}

async function uploadsOpen({ appId }: { appId: string }): Promise<number> {
  const { rows } = await sql`select 1 from svc.storage_uploads where app_id = ${appId}`.execute(db);
  return rows.length;
}

/** What the outbox would do by now. */
async function settle({ appId }: { appId: string }): Promise<void> {
  const { rows } = await sql<{ topic: string; payload: Record<string, unknown> }>`
    select topic, payload from svc.outbox where payload->>'appId' = ${appId}`.execute(db);
  const effects = {
    'storage.discardBlob': removeBlob({ db, objects: server.objects }),
    'storage.discardApp': removeObjectsOfApp({ db, objects: server.objects }),
  };
  for (const { topic, payload } of rows) await effects[topic as keyof typeof effects](payload);
}

function resigned(url: string, change: (claims: ObjectClaims) => object, key = testUrlKey): string {
  const [start, token = '', name] = [url.slice(0, url.indexOf('/objects/') + 9), ...url.split('/').slice(-2)];
  const claims = readUrlToken<ObjectClaims>(testUrlKey, token, new Date(0));
  if (claims === null || claims === 'expired') throw new Error('Not one of ours.');
  return `${start}${signUrlToken(key, { ...claims, ...change(claims) })}/${name}`;
}

test('what is uploaded is listed, counted and downloaded as it was', async () => {
  const { call, put, urlOf, keys } = await world();
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

test('ranges, what one has already, and heads are answered as HTTP has it', async () => {
  const { put, urlOf } = await world();
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

test('an address is good for what it was signed for, until it expires, and in one spelling', async () => {
  const { put, urlOf, sign, keys } = await world();
  await put('k', 'old');
  const [get, write] = [await urlOf('k'), await sign({ key: 'k' })];
  expect(await codeOf(upload(get, 'new'))).toBe('forbidden');
  expect(await codeOf(server.use(write))).toBe('forbidden');
  expect(await codeOf(server.use(write, { method: 'DELETE' }))).toBe('method_not_allowed');
  expect(await codeOf(server.use(resigned(get, () => ({}), 'another key')))).toBe('forbidden');
  const [body = '', signature = ''] = get.split('/').at(-2)!.split('.');
  for (const token of [
    ...[
      `${body.slice(0, -1)}A.${signature}`,
      `${body}.${signature.slice(0, -1)}`,
      `${body}`,
      `.${signature}`,
    ],
    ...[`${body}.${signature}.x`, `${body}.${signature}=`, `${body}=.${signature}`, ''],
  ]) {
    const forged = get.replace(`${body}.${signature}`, token);
    expect([token, await codeOf(server.use(forged))]).toEqual([token, 'forbidden']);
  }
  expect(await codeOf(server.use(`${get}/more`))).toBe('forbidden');
  expect(await codeOf(server.use(resigned(get, () => ({ purpose: 'icon' }))))).toBe('forbidden');
  server.setNow(new Date(Date.now() + 301_000));
  try {
    expect(await codeOf(server.use(get))).toBe('url_expired');
    expect(await codeOf(upload(write, 'new'))).toBe('200');
    server.setNow(new Date(Date.now() + 601_000));
    expect(await codeOf(upload(write, 'newer'))).toBe('url_expired');
  } finally {
    server.setNow(null);
  }
  expect(await keys()).toEqual(['k']);
});

test('an address ends with the right of whoever made it, within a second, be it to read or to write', async () => {
  const ends: [string, (it: Awaited<ReturnType<typeof world>>) => Promise<unknown>][] = [
    [
      'co-ownership',
      ({ tenant, owner, app, coOwner }) =>
        testMutation(db, owner, (ctx) => removeCoOwner(ctx, { user: coOwner.userId }), {
          context: { tenant, app },
        }),
    ],
    [
      'suspension',
      ({ tenant, admin, coOwner }) =>
        testMutation(db, admin, (ctx) => suspendUser(ctx, { userId: coOwner.userId }), {
          context: { tenant },
        }),
    ],
    [
      'the app',
      async ({ app, owner }) => {
        await sql`update svc.apps set record = 'deleted' where id = ${app.id}`.execute(db);
        await testMutation(db, owner, async (ctx) => ctx.changed(appTag(app.id)));
      },
    ],
  ];
  for (const [what, end] of ends) {
    const it = await world();
    await it.put('k', 'text');
    const [get, write] = [await it.urlOf('k', 'coOwner'), await it.sign({ key: 'new' }, 'coOwner')];
    expect([what, await codeOf(server.use(get))]).toEqual([what, '200']);
    await end(it);
    const isGood = async () => (await codeOf(server.use(get))) === '200';
    expect([what, (await heardAfterMs([isGood])) < 1_000]).toEqual([what, true]);
    expect([what, await codeOf(upload(write, 'x'))]).toEqual([what, 'forbidden']);
    expect([what, await uploadsOpen(it.place)]).toEqual([what, 0]);
  }
});

test('a right that ends while the bytes are coming is not used', async () => {
  const it = await world();
  const url = await it.sign({ key: 'late' }, 'coOwner');
  const half = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(1000));
      await half.promise;
      controller.enqueue(new Uint8Array(1000));
      controller.close();
    },
  });
  const answer = codeOf(upload(url, body));
  while ((await uploadsOpen(it.place)) === 0) await new Promise(setImmediate);
  const { tenant, owner, app, coOwner } = it;
  await testMutation(db, owner, (ctx) => removeCoOwner(ctx, { user: coOwner.userId }), {
    context: { tenant, app },
  });
  half.resolve();
  expect(['forbidden', 'not_found']).toContain(await answer);
  expect([await it.keys(), await blobs(it.place), await uploadsOpen(it.place)]).toEqual([[], [], 0]);
});

test('an upload that breaks off, or is not what was announced, leaves nothing', async () => {
  const { sign, keys, place } = await world();
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(100_000));
      controller.error(new Error('gone'));
    },
  });
  expect(await codeOf(upload(await sign({ key: 'k' }), broken))).toBe('request_timeout');
  const sized = await sign({ key: 'k', size: 5 });
  const unsized = (text: string) => new Blob([text]).stream();
  expect(await codeOf(upload(sized, unsized('four')))).toBe('validation_failed');
  expect(await codeOf(upload(sized, unsized('sixsix')))).toBe('payload_too_large');
  const url = await sign({ key: 'k' });
  expect(await codeOf(upload(url, 'x', { ...octets, 'x-svc-sha256': sum('y') }))).toBe('validation_failed');
  expect(await codeOf(upload(url, 'x', { ...octets, 'x-svc-sha256': 'y' }))).toBe('validation_failed');
  expect(await codeOf(upload(url, 'x', { 'content-type': 'text/html' }))).toBe('unsupported_media_type');
  expect(await codeOf(upload(url, 'x', { ...octets, 'content-encoding': 'gzip' }))).toBe(
    'unsupported_media_type',
  );
  expect(await codeOf(upload(url, 'x', { ...octets, 'content-range': 'bytes 0-0/1' }))).toBe(
    'validation_failed',
  );
  expect([await keys(), await blobs(place), await uploadsOpen(place)]).toEqual([[], [], 0]);
  expect(await codeOf(upload(url, 'x', { ...octets, 'x-svc-sha256': sum('x') }))).toBe('201');
  expect(await codeOf(upload(sized, 'fives'))).toBe('200');
});

test('of many who upload to one key at once one wins, all are whole, and no bytes are left over', async () => {
  const { sign, put, call, urlOf, keys, place } = await world();
  await put('k', 'first');
  const texts = Array.from({ length: 8 }, (_, at) => String(at).repeat(50_000 + at));
  const url = await sign({ key: 'k' });
  const answers = await Promise.all(texts.map((text) => codeOf(upload(url, text))));
  expect(new Set(answers)).toEqual(new Set(['200']));
  const text = await (await server.use(await urlOf('k'))).text();
  expect(texts).toContain(text);
  expect((await call('GET', '')).body).toMatchObject({ objects: 1, bytes: text.length });
  await settle(place);
  expect([await keys(), (await blobs(place)).length, await uploadsOpen(place)]).toEqual([['k'], 1, 0]);
});

test('a copy has the bytes for as long as it wants them, whatever becomes of the original', async () => {
  const { call, put, urlOf, place, remove } = await world();
  await put('a', 'bytes', 'text/css');
  const copied = await call('POST', '/copy', { from: 'a', to: 'b' });
  expect(copied.body).toMatchObject({ key: 'b', size: 5, content_type: 'text/css', sha256: sum('bytes') });
  expect((await call('POST', '/copy', { from: 'a', to: 'b' })).body.changed).toBe(false);
  expect((await call('POST', '/copy', { from: 'a', to: 'a' })).body.changed).toBe(false);
  expect((await call('POST', '/copy', { from: 'none', to: 'c' })).body.code).toBe('not_found');
  await remove('a');
  await settle(place);
  expect(await (await server.use(await urlOf('b'))).text()).toBe('bytes');
  expect((await call('GET', '')).body).toMatchObject({ objects: 1, bytes: 5 });
  await remove('b');
  expect((await call('DELETE', '/objects?key=b')).body.code).toBe('not_found');
  await settle(place);
  expect(await blobs(place)).toEqual([]);
  expect((await call('GET', '')).body).toMatchObject({ objects: 0, bytes: 0 });
});

test('what an app may hold is counted to the byte', async () => {
  const { call, put, sign, place } = await world();
  await put('k', '12345');
  await sql`update svc.app_storage set bytes = ${storageBytesMax - 3} where app_id = ${place.appId}`.execute(
    db,
  );
  expect((await call('POST', '/upload-url', { key: 'n', size: 4 })).body.code).toBe('limit_reached');
  expect((await call('POST', '/copy', { from: 'k', to: 'n' })).body.code).toBe('limit_reached');
  const unsized = (text: string) => new Blob([text]).stream();
  expect(await codeOf(upload(await sign({ key: 'n' }), unsized('1234')))).toBe('limit_reached');
  expect(await codeOf(upload(await sign({ key: 'n' }), '1234'))).toBe('limit_reached');
  // What it takes the place of is given back.
  expect(await codeOf(upload(await sign({ key: 'k' }), '12345678'))).toBe('200');
  expect(await codeOf(upload(await sign({ key: 'n' }), '1'))).toBe('limit_reached');
});

test('an archived app is read only, and without storage there is nothing to ask', async () => {
  const { call, put, urlOf, sign, app } = await world();
  await put('k', 'x');
  const write = await sign({ key: 'k' });
  await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(db);
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

  const bare = await world();
  await sql`delete from svc.app_storage where app_id = ${bare.app.id}`.execute(db);
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

test('enabling again changes nothing, and says so', async () => {
  const { call, tenant } = await world();
  const { body } = await call('POST', '/enable');
  expect(body).toMatchObject({ enabled: true, changed: false });
  const { rows } = await sql`select 1 from svc.audit_entries
    where tenant_id = ${tenant.id} and action = 'storage.enable'`.execute(db);
  expect(rows).toHaveLength(1);
});

test('the sweep forgets what dead uploads left, and nothing else', async () => {
  const { put, place, keys } = await world();
  await put('kept', 'x');
  const [kept] = await blobs(place);
  const blobId = Bun.randomUUIDv7();
  const left = `${blobPrefix(place)}${blobId}`;
  await server.objects.put(left, new Blob(['half']).stream(), { bytesMax: 10 });
  await sql`insert into svc.storage_uploads values (${blobId}, ${place.appId}, ${place.tenantId}, now())`.execute(
    db,
  );
  const sweep = (now: Date) => forgetUploads({ db, objects: server.objects, log: silentLog }, { now });
  await sweep(new Date());
  expect((await blobs(place)).sort()).toEqual([kept!, left].sort());
  await sweep(new Date(Date.now() + 25 * 3_600_000));
  expect([await blobs(place), await uploadsOpen(place), await keys()]).toEqual([[kept!], 0, ['kept']]);
});

test('a purge takes rows and bytes, and an upload under way finds nothing to end in', async () => {
  const it = await world();
  await it.put('a', '123');
  await it.put('b', '4567');
  const half = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(10));
      await half.promise;
      controller.close();
    },
  });
  const late = codeOf(upload(await it.sign({ key: 'c' }), body));
  while ((await uploadsOpen(it.place)) === 0) await new Promise(setImmediate);
  const purged = await testMutation(db, it.owner, (ctx) => purgeStorage(ctx, it.place), {
    auditTenantId: it.tenant.id,
  });
  expect(purged.value).toEqual({ objects: 2, bytes: 7 });
  half.resolve();
  expect(await late).toBe('storage_not_enabled');
  await settle(it.place);
  const { rows } = await sql`select 1 from svc.storage_objects where app_id = ${it.app.id}`.execute(db);
  expect([rows.length, await blobs(it.place), await uploadsOpen(it.place)]).toEqual([0, [], 0]);
});

test('uploads, copies and deletions are in the audit of the tenant, under who made the address', async () => {
  const { call, put, tenant, owner } = await world();
  await put('a', 'one');
  await put('a', 'three');
  await call('POST', '/copy', { from: 'a', to: 'b' });
  await call('DELETE', '/objects?key=a');
  const { rows } = await sql<{ action: string; actor: string; name: string }>`
    select action, actor_id as actor, target_name as name from svc.audit_entries
    where tenant_id = ${tenant.id} and action like 'storage.%' order by seq`.execute(db);
  expect(rows.map(({ action, name }) => `${action} ${name}`).slice(1)).toEqual([
    ...['storage.signUpload a', 'storage.put a', 'storage.signUpload a', 'storage.put a'],
    ...['storage.copy b', 'storage.delete a'],
  ]);
  expect(new Set(rows.map(({ actor }) => actor))).toEqual(new Set([owner.userId]));
});
