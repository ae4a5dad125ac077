import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { storageBytesMax } from '@svc/contract/storage.ts';
import { sql } from 'kysely';
import { removeCoOwner } from '../../apps/record/people.ts';
import { newApp } from '../../apps/record/testing.ts';
import { createTaggedCache } from '../../core/cache.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { fixedKey } from '../../core/keys.ts';
import { rowsOnlyOutbox } from '../../core/outbox.ts';
import { appTag } from '../../core/tags.ts';
import { temporaryFolder } from '../../drivers/database/testing.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { signUrlToken, verifyUrlToken } from '../../http/signed-url.ts';
import {
  loginHeaders,
  msUntilRefused,
  startServerCopy,
  testOrigin,
} from '../../identity/provider/testing.ts';
import { suspendUser } from '../../people/users/users.ts';
import {
  newTenant,
  newUser,
  silentLog,
  type TestDatabase,
  testEvents,
  testMutation,
  useTestDatabase,
} from '../../testing.ts';
import { respond } from '../testing.ts';
import { deleteObject } from './objects.ts';
import { createObjectsHandler } from './objects-handler.ts';
import { storageRoutes } from './routes.ts';
import { blobPrefix } from './rules.ts';
import { createIssuerAccess, type ObjectClaims } from './signed-urls.ts';
import { deleteAppObjects, deleteUnusedBlob, purgeStorage } from './storage.ts';
import { deleteStaleUploads } from './uploads.ts';

const testUrlKey = fixedKey('a key for tests');

type StorageServer = Awaited<ReturnType<typeof startStorageServer>>;

async function startStorageServer(database: TestDatabase) {
  const folder = temporaryFolder();
  const objects = openFileStore(folder.path);
  const routes = storageRoutes({ baseUrl: testOrigin, urlKey: testUrlKey });
  const server = await startServerCopy(database, undefined, routes);
  const invalidation = listenForChanges({ url: database.url, log: silentLog });
  await invalidation.start();
  const { db } = database;
  const clock = { fixed: null as Date | null };
  const handle = createObjectsHandler({
    db,
    objects,
    outbox: rowsOnlyOutbox,
    events: testEvents,
    urlKey: testUrlKey,
    now: () => clock.fixed ?? new Date(),
    issuerAccess: createIssuerAccess({ db, cache: createTaggedCache(invalidation, { entriesMax: 100 }) }),
  });
  return {
    ...server,
    objects,
    use: (url: string, init?: RequestInit) => respond(handle, new Request(url, init)),
    clock,
    stop: async () => {
      await invalidation.stop();
      await server.stop();
      await folder.remove();
    },
  };
}

const database = useTestDatabase();
let db: Db;
let server: StorageServer;

beforeAll(async () => {
  db = database.db;
  server = await startStorageServer(database);
});
afterAll(async () => {
  await server.stop();
});

/** A private app with storage. Calls are the owner's by default. */
async function newStorageApp() {
  const { tenant, admin } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const ref = { tenantId: tenant.id, appId: app.id };
  const logins = {
    owner: await loginHeaders(database, owner),
    coOwner: await loginHeaders(database, coOwner),
  };
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
  // Not over HTTP: the test server's outbox drops effects.
  const remove = (key: string) =>
    testMutation(db, owner, (ctx) => deleteObject(ctx, { key }), { context: { tenant, app } });
  return { tenant, admin, owner, coOwner, app, ref, call, sign, put, urlOf, keys, remove };
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

async function blobs(ref: AppRef): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of server.objects.list(blobPrefix(ref))) found.push(key);
  return found;
}

async function openUploads({ appId }: { appId: string }): Promise<number> {
  const { rows } = await sql`select 1 from svc.storage_uploads where app_id = ${appId}`.execute(db);
  return rows.length;
}

/** Runs the queued outbox effects. */
async function runEffects({ appId }: { appId: string }): Promise<void> {
  const { rows } = await sql<{ topic: string; payload: Record<string, unknown> }>`
    select topic, payload from svc.outbox where payload->>'appId' = ${appId}`.execute(db);
  const effects = {
    'storage.discardBlob': deleteUnusedBlob({ db, objects: server.objects }),
    'storage.discardApp': deleteAppObjects({ db, objects: server.objects }),
  };
  for (const { topic, payload } of rows) await effects[topic as keyof typeof effects](payload);
}

function resign(url: string, change: (claims: ObjectClaims) => object, key = testUrlKey): string {
  const [start, token = '', name] = [url.slice(0, url.indexOf('/objects/') + 9), ...url.split('/').slice(-2)];
  const claims = verifyUrlToken<ObjectClaims>(testUrlKey, token, new Date(0));
  if (claims === null || claims === 'expired') throw new Error('invalid token');
  return `${start}${signUrlToken(key, { ...claims, ...change(claims) })}/${name}`;
}

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

test('a signed URL works only for its purpose, until it expires, and in one spelling', async () => {
  const { put, urlOf, sign, keys } = await newStorageApp();
  await put('k', 'old');
  const [get, write] = [await urlOf('k'), await sign({ key: 'k' })];
  expect(await codeOf(upload(get, 'new'))).toBe('forbidden');
  expect(await codeOf(server.use(write))).toBe('forbidden');
  expect(await codeOf(server.use(write, { method: 'DELETE' }))).toBe('method_not_allowed');
  expect(await codeOf(server.use(resign(get, () => ({}), fixedKey('another key'))))).toBe('forbidden');
  const [body = '', signature = ''] = get.split('/').at(-2)!.split('.');
  for (const token of [
    `${body.slice(0, -1)}A.${signature}`,
    `${body}.${signature.slice(0, -1)}`,
    `${body}`,
    `.${signature}`,
    `${body}.${signature}.x`,
    `${body}.${signature}=`,
    `${body}=.${signature}`,
    '',
  ]) {
    const forged = get.replace(`${body}.${signature}`, token);
    expect([token, await codeOf(server.use(forged))]).toEqual([token, 'forbidden']);
  }
  expect(await codeOf(server.use(`${get}/more`))).toBe('forbidden');
  expect(await codeOf(server.use(resign(get, () => ({ purpose: 'icon' }))))).toBe('forbidden');
  server.clock.fixed = new Date(Date.now() + 301_000);
  try {
    expect(await codeOf(server.use(get))).toBe('url_expired');
    expect(await codeOf(upload(write, 'new'))).toBe('200');
    server.clock.fixed = new Date(Date.now() + 601_000);
    expect(await codeOf(upload(write, 'newer'))).toBe('url_expired');
  } finally {
    server.clock.fixed = null;
  }
  expect(await keys()).toEqual(['k']);
});

test('a signed URL stops working within a second after its issuer loses access', async () => {
  const ends: [string, (it: Awaited<ReturnType<typeof newStorageApp>>) => Promise<unknown>][] = [
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
        await testMutation(db, owner, async (ctx) => ctx.invalidate(appTag(app.id)));
      },
    ],
  ];
  for (const [what, end] of ends) {
    const it = await newStorageApp();
    await it.put('k', 'text');
    const [get, write] = [await it.urlOf('k', 'coOwner'), await it.sign({ key: 'new' }, 'coOwner')];
    expect([what, await codeOf(server.use(get))]).toEqual([what, '200']);
    await end(it);
    const works = async () => (await codeOf(server.use(get))) === '200';
    expect([what, (await msUntilRefused([works])) < 1_000]).toEqual([what, true]);
    expect([what, await codeOf(upload(write, 'x'))]).toEqual([what, 'forbidden']);
    expect([what, await openUploads(it.ref)]).toEqual([what, 0]);
  }
});

test('an upload fails if its issuer loses access while it runs', async () => {
  const it = await newStorageApp();
  const url = await it.sign({ key: 'late' }, 'coOwner');
  const secondHalf = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(1000));
      await secondHalf.promise;
      controller.enqueue(new Uint8Array(1000));
      controller.close();
    },
  });
  const answer = codeOf(upload(url, body));
  while ((await openUploads(it.ref)) === 0) await new Promise(setImmediate);
  const { tenant, owner, app, coOwner } = it;
  await testMutation(db, owner, (ctx) => removeCoOwner(ctx, { user: coOwner.userId }), {
    context: { tenant, app },
  });
  secondHalf.resolve();
  expect(['forbidden', 'not_found']).toContain(await answer);
  expect([await it.keys(), await blobs(it.ref), await openUploads(it.ref)]).toEqual([[], [], 0]);
});

test('a broken upload, or one that differs from its announcement, leaves nothing', async () => {
  const { sign, keys, ref } = await newStorageApp();
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
  expect([await keys(), await blobs(ref), await openUploads(ref)]).toEqual([[], [], 0]);
  expect(await codeOf(upload(url, 'x', { ...octets, 'x-svc-sha256': sum('x') }))).toBe('201');
  expect(await codeOf(upload(sized, 'fives'))).toBe('200');
});

test('parallel uploads to one key leave one complete object and no other blobs', async () => {
  const { sign, put, call, urlOf, keys, ref } = await newStorageApp();
  await put('k', 'first');
  const texts = Array.from({ length: 8 }, (_, at) => String(at).repeat(50_000 + at));
  const url = await sign({ key: 'k' });
  const answers = await Promise.all(texts.map((text) => codeOf(upload(url, text))));
  expect(new Set(answers)).toEqual(new Set(['200']));
  const text = await (await server.use(await urlOf('k'))).text();
  expect(texts).toContain(text);
  expect((await call('GET', '')).body).toMatchObject({ objects: 1, bytes: text.length });
  await runEffects(ref);
  expect([await keys(), (await blobs(ref)).length, await openUploads(ref)]).toEqual([['k'], 1, 0]);
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

test('the storage limit is exact to the byte', async () => {
  const { call, put, sign, ref } = await newStorageApp();
  await put('k', '12345');
  await sql`update svc.app_storage set bytes = ${storageBytesMax - 3} where app_id = ${ref.appId}`.execute(
    db,
  );
  expect((await call('POST', '/upload-url', { key: 'n', size: 4 })).body.code).toBe('limit_reached');
  expect((await call('POST', '/copy', { from: 'k', to: 'n' })).body.code).toBe('limit_reached');
  const unsized = (text: string) => new Blob([text]).stream();
  expect(await codeOf(upload(await sign({ key: 'n' }), unsized('1234')))).toBe('limit_reached');
  expect(await codeOf(upload(await sign({ key: 'n' }), '1234'))).toBe('limit_reached');
  // The replaced object counts as free.
  expect(await codeOf(upload(await sign({ key: 'k' }), '12345678'))).toBe('200');
  expect(await codeOf(upload(await sign({ key: 'n' }), '1'))).toBe('limit_reached');
});

test('an archived app is read-only, and requests without storage answer storage_not_enabled', async () => {
  const { call, put, urlOf, sign, app } = await newStorageApp();
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

  const bare = await newStorageApp();
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

test('enabling again changes nothing and reports changed: false', async () => {
  const { call, tenant } = await newStorageApp();
  const { body } = await call('POST', '/enable');
  expect(body).toMatchObject({ enabled: true, changed: false });
  const { rows } = await sql`select 1 from svc.audit_entries
    where tenant_id = ${tenant.id} and action = 'storage.enable'`.execute(db);
  expect(rows).toHaveLength(1);
});

test('the cleanup job deletes the blobs of stale uploads only', async () => {
  const { put, ref, keys } = await newStorageApp();
  await put('kept', 'x');
  const [kept] = await blobs(ref);
  const blobId = Bun.randomUUIDv7();
  const left = `${blobPrefix(ref)}${blobId}`;
  await server.objects.put(left, new Blob(['half']).stream(), { bytesMax: 10 });
  await sql`insert into svc.storage_uploads values (${blobId}, ${ref.appId}, ${ref.tenantId}, now())`.execute(
    db,
  );
  const cleanUp = (now: Date) => deleteStaleUploads({ db, objects: server.objects, log: silentLog }, { now });
  await cleanUp(new Date());
  expect((await blobs(ref)).sort()).toEqual([kept!, left].sort());
  await cleanUp(new Date(Date.now() + 25 * 3_600_000));
  expect([await blobs(ref), await openUploads(ref), await keys()]).toEqual([[kept!], 0, ['kept']]);
});

test('a purge deletes rows and blobs, and an upload in progress fails', async () => {
  const it = await newStorageApp();
  await it.put('a', '123');
  await it.put('b', '4567');
  const secondHalf = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(10));
      await secondHalf.promise;
      controller.close();
    },
  });
  const late = codeOf(upload(await it.sign({ key: 'c' }), body));
  while ((await openUploads(it.ref)) === 0) await new Promise(setImmediate);
  const purged = await testMutation(db, it.owner, (ctx) => purgeStorage(ctx, it.ref), {
    auditTenantId: it.tenant.id,
  });
  expect(purged.value).toEqual({ objects: 2, bytes: 7 });
  secondHalf.resolve();
  expect(await late).toBe('storage_not_enabled');
  await runEffects(it.ref);
  const { rows } = await sql`select 1 from svc.storage_objects where app_id = ${it.app.id}`.execute(db);
  expect([rows.length, await blobs(it.ref), await openUploads(it.ref)]).toEqual([0, [], 0]);
});

test('uploads, copies and deletions are audited as the user who signed the URL', async () => {
  const { call, put, tenant, owner } = await newStorageApp();
  await put('a', 'one');
  await put('a', 'three');
  await call('POST', '/copy', { from: 'a', to: 'b' });
  await call('DELETE', '/objects?key=a');
  const { rows } = await sql<{ action: string; actor: string; name: string }>`
    select action, actor_id as actor, target_name as name from svc.audit_entries
    where tenant_id = ${tenant.id} and action like 'storage.%' order by seq`.execute(db);
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
