import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sourceUploadsPerHourMax } from '@svc/contract/deployments.ts';
import { objectSumHeader } from '@svc/contract/storage.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { createTaggedCache } from '../../core/cache.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { fixedKey } from '../../core/keys.ts';
import { Failure, problemResponse } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { createIssuerAccess } from '../../data/storage/signed-urls.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { signUrlToken } from '../../http/signed-url.ts';
import {
  loginHeaders,
  peopleRoutes,
  type ServerCopy,
  startServerCopy,
  testOrigin,
} from '../../identity/provider/testing.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testDatabase } from '../../testing.ts';
import { sourceRoutes } from '../routes.ts';
import { until } from '../testing.ts';
import { createSourcesHandler } from './receive-source.ts';
import { deleteAppSources, deleteExpiredSources, sourceKey } from './sources.ts';
import { type TestEntry, tarGzOf } from './testing.ts';
import { SourceError, unpackUpload } from './unpack-source.ts';

const urlKey = fixedKey('a key for tests');
const folder = mkdtempSync(join(tmpdir(), 'svc-sources-'));
const objects = openFileStore(folder);
let database: TestDatabase;
let server: ServerCopy;
let changes: ReturnType<typeof listenForChanges>;
let handle: ReturnType<typeof createSourcesHandler>;
let now: Date | null = null;

beforeAll(async () => {
  database = await testDatabase();
  server = await startServerCopy(database, undefined, [
    ...peopleRoutes,
    ...sourceRoutes({ baseUrl: testOrigin, urlKey }),
  ]);
  changes = listenForChanges({ url: database.url, log: silentLog });
  await changes.start();
  const { db } = database;
  handle = createSourcesHandler({
    db,
    objects,
    urlKey,
    now: () => now ?? new Date(),
    issuerAccess: createIssuerAccess({ db, cache: createTaggedCache(changes, { entriesMax: 100 }) }),
  });
});
afterAll(async () => {
  await changes.stop();
  await server.stop();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

const deadline = new AbortController().signal;
const info = { requestId: 'test', log: silentLog, setRoute: () => {}, clientAddress: '127.0.0.1', deadline };

async function put(url: string, body: Uint8Array, headers: Record<string, string> = {}, method = 'PUT') {
  const request = new Request(
    url,
    method === 'PUT' ? { method, headers, body: new Uint8Array(body) } : { method },
  );
  const response = await handle(request, new URL(url), info).catch((error: unknown) => {
    if (error instanceof Failure) return problemResponse(error, 'test');
    throw error;
  });
  const answer = (await response.json()) as { code?: string; bytes?: number; sha256?: string };
  return { status: response.status, code: answer.code, answer };
}

async function world() {
  const { tenant } = await newTenant(database.db);
  const owner = await newUser(database.db, tenant.id);
  const app = await newApp(database.db, tenant, owner);
  const appRef = { tenantId: tenant.id, appId: app.id };
  const login = await loginHeaders(database, owner);
  const grant = (query = '') =>
    server.call(login, 'POST', `/api/v1/tenants/${tenant.slug}/apps/${app.id}/sources${query}`);
  const upload = async (entries: readonly TestEntry[]) => {
    const { body } = await grant();
    const sent = await put(body.put_url, tarGzOf(entries));
    expect(sent.status).toBe(201);
    return body.upload_id as string;
  };
  const unpack = async (uploadId: string, more: Partial<Parameters<typeof unpackUpload>[1]> = {}) => {
    const into = join(mkdtempSync(join(folder, 'work-')), 'source');
    await unpackUpload({ db: database.db, objects }, { ...appRef, uploadId, into, ...more });
    return into;
  };
  return { tenant, owner, app, appRef, grant, upload, unpack };
}

const refusalOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof SourceError ? error.message : Promise.reject(error)),
  );
const archive = tarGzOf([{ name: 'package.json', text: '{}' }]);

describe('an upload URL for source', () => {
  test('accepts one archive, the same one again, and no other', async () => {
    const { appRef, grant } = await world();
    const granted = await grant();
    expect([granted.status, granted.body.bytes_max > 0]).toEqual([201, true]);
    const { put_url: url, upload_id: id } = granted.body;
    const sum = { [objectSumHeader]: sha256(archive) };
    const first = await put(url, archive, sum);
    expect([first.status, first.answer.bytes]).toEqual([201, archive.byteLength]);
    expect((await objects.stat(sourceKey(appRef, id)))?.size).toBe(archive.byteLength);
    expect((await put(url, archive, sum)).status).toBe(200);
    expect((await put(url, archive)).code).toBe('url_expired');
    const other = tarGzOf([{ name: 'other' }]);
    expect((await put(url, other, { [objectSumHeader]: sha256(other) })).code).toBe('url_expired');
  });

  test('rejects what is not an archive or does not match the announced digest', async () => {
    const { appRef, grant } = await world();
    const { put_url: url, upload_id: id } = (await grant()).body;
    const cases: [Uint8Array, Record<string, string>, string][] = [
      [Buffer.from('hello'), {}, 'unsupported_media_type'],
      [new Uint8Array(0), {}, 'unsupported_media_type'],
      [Bun.gzipSync(new Uint8Array(10_000)), {}, 'unsupported_media_type'],
      [new Uint8Array([0x1f, 0x8b, 8, 0]), {}, 'unsupported_media_type'],
      [archive, { 'content-encoding': 'gzip' }, 'unsupported_media_type'],
      [archive, { 'content-length': String(2 ** 40) }, 'payload_too_large'],
      [archive, { [objectSumHeader]: 'a'.repeat(64) }, 'digest_mismatch'],
    ];
    for (const [body, headers, code] of cases) expect((await put(url, body, headers)).code).toBe(code);
    expect(await objects.stat(sourceKey(appRef, id))).toBeNull();
    expect((await put(url, archive)).status).toBe(201);
  });

  test('is valid only for its purpose, for a limited time, and while its issuer has the permission', async () => {
    const { appRef, grant, owner } = await world();
    const { put_url: url } = (await grant()).body;
    expect((await put(url, archive, {}, 'GET')).code).toBe('method_not_allowed');
    expect((await put(`${url}x`, archive)).code).toBe('forbidden');
    const claims = { purpose: 'release.put', expires: 4e9, release: 'x', app: appRef.appId };
    expect((await put(`${testOrigin}/sources/${signUrlToken(urlKey, claims)}`, archive)).code).toBe(
      'forbidden',
    );
    now = new Date(Date.now() + 3_600_000);
    expect((await put(url, archive)).code).toBe('url_expired');
    now = null;
    await sql`delete from svc.memberships where user_id = ${owner.userId}`.execute(database.db);
    expect((await put(url, archive)).code).toBe('forbidden');
  });

  test('is not issued for an archived app, is limited in number, and not issued by a preview', async () => {
    const { app, grant } = await world();
    const rows = async () =>
      (await sql`select from svc.deployment_uploads where app_id = ${app.id}`.execute(database.db)).rows
        .length;
    const previewed = await grant('?dry_run=true');
    expect([previewed.status, previewed.body.dry_run, await rows()]).toEqual([200, true, 0]);
    await sql`insert into svc.deployment_uploads (id, tenant_id, app_id, created_by, expires_at)
      select gen_random_uuid(), tenant_id, id, owner_id, now() + interval '10 minutes'
      from svc.apps, generate_series(1, ${sourceUploadsPerHourMax}) where id = ${app.id}`.execute(
      database.db,
    );
    expect((await grant()).body.code).toBe('limit_reached');
    await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);
    expect((await grant()).body.code).toBe('app_not_active');
  });
});

describe('uploaded source', () => {
  test('is unpacked without its permissions and owners', async () => {
    const { upload, unpack } = await world();
    const into = await unpack(
      await upload([
        { name: 'src/index.js', text: 'run()' },
        { name: 'link', type: '2', link: 'src/index.js' },
        { name: 'empty/', type: '5' },
      ]),
    );
    expect(readdirSync(into).sort()).toEqual(['empty', 'link', 'src']);
    expect(readFileSync(join(into, 'src/index.js'), 'utf8')).toBe('run()');
    expect(readlinkSync(join(into, 'link'))).toBe('src/index.js');
    const { uid, mode } = lstatSync(join(into, 'src/index.js'));
    expect(mode & 0o7000).toBe(0);
    // Root changes the owner: the unpacking user must have no other rights.
    if (process.getuid?.() === 0) expect(uid).not.toBe(0);
  });

  test('has no links to the outside', async () => {
    const { upload, unpack } = await world();
    const outside = join(folder, 'outside');
    for (const entries of [
      [{ name: `${'../'.repeat(20)}${outside}` }],
      [{ name: outside }],
      [{ name: 'l', type: '2', link: folder }, { name: 'l/outside' }],
      [{ name: 'l', type: '2', link: '../..' }, { name: 'l/outside' }],
      [{ name: 'a', type: '1', link: '/etc/passwd' }],
      [{ name: 'a', type: '6' }],
    ])
      expect(await refusalOf(unpack(await upload(entries)))).not.toBe('done');
    expect(existsSync(outside)).toBe(false);
  });

  test('is limited in its unpacked size', async () => {
    const { upload, unpack } = await world();
    const limits = { filesMax: 3, bytesMax: 1_000_000 };
    const large = await upload([{ name: 'zeros', text: new Uint8Array(2_000_000) }]);
    expect(await refusalOf(unpack(large, { limits }))).toContain('1000000 bytes');
    const many = await upload(Array.from({ length: 4 }, (_, at) => ({ name: `f${at}` })));
    expect(await refusalOf(unpack(many, { limits }))).toContain('3 files');
  });

  test('must exist, be complete and belong to the app', async () => {
    const [one, other] = [await world(), await world()];
    const id = await one.upload([{ name: 'a', text: 'a' }]);
    expect(await refusalOf(other.unpack(id))).toContain('not uploaded');
    expect(await refusalOf(one.unpack((await one.grant()).body.upload_id))).toContain('not uploaded');
    const key = sourceKey(one.appRef, id);
    const replace = (bytes: Uint8Array) =>
      objects.put(
        key,
        (async function* () {
          yield bytes;
        })(),
        { bytesMax: 1e6 },
      );
    await replace(tarGzOf([{ name: 'b', text: 'b' }]));
    expect(await refusalOf(one.unpack(id))).toContain('does not match the upload');
    const half = tarGzOf([{ name: 'a', text: crypto.getRandomValues(new Uint8Array(50_000)) }]).subarray(
      0,
      20_000,
    );
    await replace(half);
    await sql`update svc.deployment_uploads set sha256 = ${sha256(half)} where id = ${id}`.execute(
      database.db,
    );
    expect(await refusalOf(one.unpack(id))).toMatch(/damaged|incomplete/);
  });

  test('is refused when only the last read shows that it does not match, after its files are there', async () => {
    const { upload, appRef } = await world();
    const uploadId = await upload([{ name: 'a', text: 'a' }]);
    const into = join(mkdtempSync(join(folder, 'work-')), 'source');
    const another = tarGzOf([{ name: 'b', text: 'b' }]);
    async function* endsLate() {
      yield another;
      await until(async () => existsSync(join(into, 'b')));
    }
    const late = { ...objects, get: async () => ({ size: another.length, body: endsLate() }) };
    const unpacked = unpackUpload(
      { db: database.db, objects: late as unknown as typeof objects },
      { ...appRef, uploadId, into },
    );
    expect(await refusalOf(unpacked)).toContain('does not match the upload');
  });

  test('can be aborted while it is unpacked', async () => {
    const { upload, unpack } = await world();
    const id = await upload([{ name: 'a', text: 'a' }]);
    const signal = AbortSignal.abort(new Error('canceled'));
    expect(unpack(id, { signal })).rejects.toThrow('canceled');
  });

  test('is deleted after its retention time and with its app', async () => {
    const { appRef, upload } = await world();
    const [old, young, third] = [
      await upload([{ name: 'a' }]),
      await upload([{ name: 'b' }]),
      await upload([{ name: 'c' }]),
    ];
    await sql`update svc.deployment_uploads set expires_at = now() - interval '25 hours' where id = ${old}`.execute(
      database.db,
    );
    await deleteExpiredSources({ db: database.db, objects, log: silentLog }, { now: new Date() });
    const there = async () =>
      Promise.all(
        [old, young, third].map(async (id) => (await objects.stat(sourceKey(appRef, id))) !== null),
      );
    expect(await there()).toEqual([false, true, true]);
    await deleteAppSources({ objects })(appRef);
    expect(await there()).toEqual([false, false, false]);
  });
});
