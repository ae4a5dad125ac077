import { describe, expect, test } from 'bun:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { uploadGrantSeconds } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import { removeCoOwner } from '../../apps/record/people.ts';
import { fixedKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { testUrlKey } from '../../data/testing.ts';
import { signUrlToken } from '../../http/signed-url.ts';
import { testMutation } from '../../testing.ts';
import { appBlobsPrefix } from './blobs.ts';
import { insertBlobRow } from './file-store.ts';
import { listed, newSiteEnv, type SiteEnv, useSiteServer } from './testing.ts';
import type { UploadClaims } from './uploads.ts';

/** Called before an object is stored. */
let beforePut: () => Promise<void> = async () => {};
const { database, server } = useSiteServer({
  wrap: (objects) => ({
    ...objects,
    async put(...args) {
      await beforePut();
      return objects.put(...args);
    },
  }),
});

const text = 'A page of some length, so that it is worth to be compressed. '.repeat(20);
const sum = sha256(text);
const put = (url: string, body: BodyInit, headers: Record<string, string> = {}) =>
  server.use(url, { method: 'PUT', body, headers });
const codeOf = async (answer: Response) =>
  answer.status < 300
    ? answer.status
    : `${answer.status} ${((await answer.json()) as { code: string }).code}`;
async function keysOf({ ref }: SiteEnv): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of server.objects.list(appBlobsPrefix(ref))) keys.push(key);
  return keys;
}
/** A draft of one file, and its upload URL. */
async function drafted() {
  const world = await newSiteEnv(database, server);
  const draft = await world.create({ 'index.html': text });
  return {
    world,
    id: draft.body.id as string,
    base: draft.body.upload_url as string,
    url: `${draft.body.upload_url}${sum}`,
  };
}

function dropCoOwner({ tenant, app, people }: SiteEnv) {
  return testMutation(
    database.db,
    people.owner,
    async (ctx) => {
      await removeCoOwner(ctx, { user: people.coOwner.userId });
      ctx.invalidate(appTag(app.id));
    },
    { context: { tenant: { ...tenant, role: 'tenant_member' as const }, app } },
  );
}
const streamOf = (...pieces: string[]) =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });

describe('a file of a draft', () => {
  test('is stored once with its compressed forms', async () => {
    const { world, url } = await drafted();
    const first = await put(url, text);
    expect([first.status, await first.json()]).toEqual([201, { sha256: sum, size: text.length }]);
    expect((await keysOf(world)).map((key) => key.slice(-3)).filter((end) => end.startsWith('.'))).toEqual([
      '.br',
      '.gz',
    ]);
    expect(await codeOf(await put(url, text))).toBe(200);
    const { rows } = await sql<{ size: number; gzip_size: number; brotli_size: number }>`
      select size, gzip_size, brotli_size from svc.static_blobs where app_id = ${world.app.id}`.execute(
      database.db,
    );
    expect(rows).toHaveLength(1);
    expect(Math.max(rows[0]?.gzip_size ?? 0, rows[0]?.brotli_size ?? 0)).toBeLessThan(text.length * 0.9);
  });

  test('can be empty', async () => {
    const world = await newSiteEnv(database, server);
    const id = await world.release({ 'empty.txt': '' });
    expect((await world.call('GET', `/releases/${id}/files`)).body.items).toEqual([
      { path: 'empty.txt', sha256: sha256(''), size: 0 },
    ]);
  });

  test('is rejected with a wrong digest or size', async () => {
    const { world, url, base } = await drafted();
    const wrong = `${text.slice(0, -1)}!`;
    expect(await codeOf(await put(url, wrong))).toBe('422 digest_mismatch');
    expect(await codeOf(await put(url, text.slice(1)))).toBe('422 digest_mismatch');
    expect(await codeOf(await put(url, `${text}more`))).toBe('422 digest_mismatch');
    expect(await codeOf(await put(url, streamOf(text, 'more')))).toBe('422 digest_mismatch');
    for (const other of [sha256('not of it'), 'nonsense', '', sum.toUpperCase()])
      expect(await codeOf(await put(`${base}${other}`, text))).toBe('404 not_in_manifest');
    expect(await codeOf(await put(url, text, { 'content-encoding': 'gzip' }))).toBe(
      '415 unsupported_media_type',
    );
    expect(await keysOf(world)).toEqual([]);
    expect(await codeOf(await put(url, text))).toBe(201);
  });

  test('that is uploaded twice concurrently is stored once', async () => {
    const { world, url } = await drafted();
    const answers = await Promise.all([put(url, text), put(url, text), put(url, text)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    expect(await keysOf(world)).toHaveLength(3);
  });

  test('that fails to be stored leaves nothing behind and can be uploaded again', async () => {
    const { world, url } = await drafted();
    let puts = 0;
    beforePut = async () => {
      puts += 1;
      if (puts === 2) throw fail('unavailable');
    };
    try {
      expect(await codeOf(await put(url, text))).toBe('503 unavailable');
    } finally {
      beforePut = async () => {};
    }
    expect([puts, await keysOf(world)]).toEqual([3, []]);
    expect(await codeOf(await put(url, text))).toBe(201);
  });

  test('is rejected after the release is finalized or abandoned, even during the upload', async () => {
    for (const end of ['finalize', 'revoke']) {
      const { world, id, url, base } = await drafted();
      const paused = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      beforePut = () => {
        reached.resolve();
        return paused.promise;
      };
      const late = put(url, text);
      await reached.promise;
      beforePut = async () => {};
      // Another upload of the same file finished first; without it finalize would fail.
      expect(await codeOf(await put(url, text))).toBe(201);
      const stored = await keysOf(world);
      expect((await world.move(id, end)).status).toBe(200);
      paused.resolve();
      expect([end, await codeOf(await late)]).toEqual([end, '409 release_not_draft']);
      expect(await keysOf(world)).toEqual(stored);
      expect(await codeOf(await put(url, text))).toBe('409 release_not_draft');
      expect(await codeOf(await put(`${base}${sha256('x')}`, text))).toBe('409 release_not_draft');
      const grant = await world.move(id, 'upload-grant');
      expect([grant.status, grant.body.code]).toEqual([409, 'release_not_draft']);
    }
  });

  test('gets its row only while the release is locked as a draft', async () => {
    const { world, id } = await drafted();
    const row = {
      app_id: world.app.id,
      tenant_id: world.tenant.id,
      sha256: sum,
      size: text.length,
      blob_id: Bun.randomUUIDv7(),
      gzip_size: null,
      brotli_size: null,
      stored_at: new Date(),
    };
    const store = () =>
      database.db.transaction().execute(async (tx) => {
        await sql`set local lock_timeout = '50ms'`.execute(tx);
        return insertBlobRow(tx, row, id);
      });
    await database.db.transaction().execute(async (tx) => {
      await sql`update svc.static_releases set state = 'abandoned' where id = ${id}`.execute(tx);
      expect(await store().catch((error: { code?: string }) => error.code)).toBe('55P03');
    });
    expect(await store()).toBe(false);
  });

  test('larger than the buffer is streamed to the store and compressed afterwards', async () => {
    const world = await newSiteEnv(database, server);
    const large = text.repeat(200);
    const files = { 'large.html': large };
    const draft = await world.create(files);
    const url = `${draft.body.upload_url}${sha256(large)}`;
    for (const wrong of [`${large.slice(1)}!`, streamOf(large.slice(1)), streamOf(large, '!')])
      expect(await codeOf(await put(url, wrong))).toBe('422 digest_mismatch');
    expect(await keysOf(world)).toEqual([]);
    expect(await codeOf(await put(url, streamOf(large.slice(0, 100_000), large.slice(100_000))))).toBe(201);
    const [key = '', ...forms] = (await keysOf(world)).sort();
    expect(forms).toEqual([`${key}.br`, `${key}.gz`]);
    const bytesOf = async (at: string) =>
      new Uint8Array(await new Response((await server.objects.get(at))?.body).arrayBuffer());
    for (const [at, open] of [
      [key, (bytes: Uint8Array) => bytes],
      [`${key}.br`, brotliDecompressSync],
      [`${key}.gz`, gunzipSync],
    ] as const)
      expect(sha256(new Uint8Array(open(await bytesOf(at))))).toBe(sha256(large));
    const { rows } = await sql<{ size: number; gzip_size: number; brotli_size: number }>`
      select size, gzip_size, brotli_size from svc.static_blobs where app_id = ${world.app.id}`.execute(
      database.db,
    );
    const sizes = await Promise.all(
      [key, `${key}.gz`, `${key}.br`].map(async (at) => (await bytesOf(at)).length),
    );
    expect(rows.map((row) => [row.size, row.gzip_size, row.brotli_size])).toEqual([sizes]);
  });

  test('that arrives slowly does not block others', async () => {
    const size = 25 * 1024 * 1024;
    const hangUp: (() => void)[] = [];
    const slow: Promise<Response>[] = [];
    for (let user = 0; user < 4; user += 1) {
      const world = await newSiteEnv(database, server);
      const sums = ['one', 'two', 'three'].map((it) => sha256(it));
      const { body } = await world.call('POST', '/releases', {
        files: sums.map((it, at) => ({ path: `${at}.bin`, sha256: it, size })),
      });
      for (const it of sums) {
        const stream = new ReadableStream({
          start(controller) {
            controller.enqueue(new Uint8Array(1));
            hangUp.push(() => controller.error(new Error('The client has gone.')));
          },
        });
        slow.push(put(`${body.upload_url}${it}`, stream));
      }
    }
    const { url } = await drafted();
    const ended = Promise.race([...slow, put(url, text)]);
    expect(await codeOf(await ended)).toBe(201);
    for (const end of hangUp) end();
    expect(new Set(await Promise.all(slow.map(async (it) => codeOf(await it))))).toEqual(
      new Set(['408 request_timeout']),
    );
  });

  test('that arrives too slowly is rejected', async () => {
    const { world, url } = await drafted();
    const begun = Date.now();
    let sent = 0;
    const drops = new ReadableStream(
      {
        pull(controller) {
          sent += 1;
          server.clock.fixed = new Date(begun + sent * 20_000);
          controller.enqueue(new TextEncoder().encode(text.charAt(sent)));
          if (sent === 10) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    try {
      expect(await codeOf(await put(url, drops))).toBe('408 request_timeout');
    } finally {
      server.clock.fixed = null;
    }
    expect([sent <= 4, await keysOf(world)]).toEqual([true, []]);
  });

  test('is rejected if the issuer lost ownership during the upload', async () => {
    const { world, id } = await drafted();
    const grant = await world.move(id, 'upload-grant', 'coOwner');
    let dropped: Promise<unknown> | null = null;
    beforePut = async () => {
      dropped ??= dropCoOwner(world);
      await dropped;
    };
    try {
      expect(await codeOf(await put(`${grant.body.upload_url}${sum}`, text))).toBe('403 forbidden');
    } finally {
      beforePut = async () => {};
    }
    expect([dropped !== null, await keysOf(world)]).toEqual([true, []]);
  });
});

describe('the upload URL', () => {
  test('expires and can be replaced; uploaded files stay', async () => {
    const files = { 'a.txt': 'a', 'b.txt': 'b' };
    const world = await newSiteEnv(database, server);
    const draft = await world.create(files);
    const [first, second] = draft.body.missing as [string, string];
    const bodyOf = (it: string) => (it === sha256('a') ? 'a' : 'b');
    expect(await codeOf(await put(`${draft.body.upload_url}${first}`, bodyOf(first)))).toBe(201);
    server.clock.fixed = new Date(Date.now() + uploadGrantSeconds * 1000);
    try {
      expect(await codeOf(await put(`${draft.body.upload_url}${second}`, bodyOf(second)))).toBe(
        '403 url_expired',
      );
    } finally {
      server.clock.fixed = null;
    }
    const again = await world.move(draft.body.id, 'upload-grant');
    expect([again.status, again.body.missing]).toEqual([200, [second]]);
    expect(await codeOf(await put(`${again.body.upload_url}${second}`, bodyOf(second)))).toBe(201);
    expect((await world.move(draft.body.id, 'finalize')).status).toBe(200);
  });

  test('is invalid once the issuer lost ownership or the app is archived', async () => {
    const { world, id } = await drafted();
    const grant = await world.move(id, 'upload-grant', 'coOwner');
    const url = `${grant.body.upload_url}${sum}`;
    await dropCoOwner(world);
    expect(await codeOf(await put(url, text))).toBe('403 forbidden');
    const { world: other, url: theirs } = await drafted();
    expect((await other.ofApp('POST', '/archive')).status).toBe(200);
    expect(await codeOf(await put(theirs, text))).toBe('409 app_not_active');
    expect(await keysOf(other)).toEqual([]);
  });

  test('cannot be forged or made for another purpose', async () => {
    const { world, id, url } = await drafted();
    const claims: UploadClaims = {
      purpose: 'release.put',
      expires: Math.floor(Date.now() / 1000) + 60,
      release: id,
      app: world.app.id,
      tenant: world.tenant.id,
      issuer: world.people.owner.userId,
    };
    const at = (token: string) => url.replace(/uploads\/[^/]+/, `uploads/${token}`);
    expect(await codeOf(await put(at(signUrlToken(fixedKey('another key'), claims)), text))).toBe(
      '403 forbidden',
    );
    const object = signUrlToken(testUrlKey, { ...claims, purpose: 'object.put' });
    expect(await codeOf(await put(at(object), text))).toBe('403 forbidden');
    expect(await codeOf(await put(`${url}/more`, text))).toBe('403 forbidden');
    expect((await server.use(url, { method: 'GET' })).status).toBe(405);
    // A release of another app: releases are found below their own app only.
    const foreign = await drafted();
    const mixed = signUrlToken(testUrlKey, { ...claims, release: foreign.id });
    expect(await codeOf(await put(at(mixed), text))).toBe('409 release_not_draft');
    expect(await codeOf(await put(at(signUrlToken(testUrlKey, claims)), text))).toBe(201);
  });
});

test('blobs of another app or tenant count as missing', async () => {
  const files = { 'index.html': text };
  const [one, other] = [await newSiteEnv(database, server), await newSiteEnv(database, server)];
  await one.release(files);
  const draft = await other.create(files);
  expect(draft.body.missing).toEqual([sum]);
  expect((await one.create({ 'copy.html': text })).body.missing).toEqual([]);
  // The error for a wrong size is given only for blobs of the app itself.
  const [file] = listed(files);
  const wrong = [{ ...file, path: 'x.html', size: 1 }];
  expect((await other.call('POST', '/releases', { files: wrong })).status).toBe(201);
  expect((await one.call('POST', '/releases', { files: wrong })).body.code).toBe('validation_failed');
});
