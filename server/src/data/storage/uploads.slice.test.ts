import { expect, test } from 'bun:test';
import { storageBytesMax } from '@svc/contract/storage.ts';
import { sql } from 'kysely';
import { silentLog, testMutation } from '../../testing.ts';
import { blobPrefix, purgeStorage } from './storage.ts';
import { codeOf, octets, sum, useStorage } from './testing.ts';
import { deleteStaleUploads } from './uploads.ts';

const { database, server, newStorageApp, upload, blobs, openUploads, runEffects } = useStorage();

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

test('the storage limit is exact to the byte', async () => {
  const { call, put, sign, ref } = await newStorageApp();
  await put('k', '12345');
  await sql`update svc.app_storage set bytes = ${storageBytesMax - 3} where app_id = ${ref.appId}`.execute(
    database.db,
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

test('the cleanup job deletes the blobs of stale uploads only', async () => {
  const { put, ref, keys } = await newStorageApp();
  await put('stored', 'x');
  const [stored] = await blobs(ref);
  const blobId = Bun.randomUUIDv7();
  const left = `${blobPrefix(ref)}${blobId}`;
  await server.objects.put(left, new Blob(['half']).stream(), { bytesMax: 10 });
  await sql`insert into svc.storage_uploads values (${blobId}, ${ref.appId}, ${ref.tenantId}, now())`.execute(
    database.db,
  );
  const cleanUp = (now: Date) =>
    deleteStaleUploads({ db: database.db, objects: server.objects, log: silentLog }, { now });
  await cleanUp(new Date());
  expect((await blobs(ref)).sort()).toEqual([stored!, left].sort());
  await cleanUp(new Date(Date.now() + 25 * 3_600_000));
  expect([await blobs(ref), await openUploads(ref), await keys()]).toEqual([[stored!], 0, ['stored']]);
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
  const purged = await testMutation(database.db, it.owner, (ctx) => purgeStorage(ctx, it.ref), {
    auditTenantId: it.tenant.id,
  });
  expect(purged.value).toEqual({ objects: 2, bytes: 7 });
  secondHalf.resolve();
  expect(await late).toBe('storage_not_enabled');
  await runEffects(it.ref);
  const { rows } = await sql`select 1 from svc.storage_objects where app_id = ${it.app.id}`.execute(
    database.db,
  );
  expect([rows.length, await blobs(it.ref), await openUploads(it.ref)]).toEqual([0, [], 0]);
});
