import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { testMutation } from '../../testing.ts';
import { newApp } from '../record/testing.ts';
import { deleteOrphanedIconObjects, deleteUnusedTenantIcons, purgeIcons } from './icons.ts';
import { type Home, signer, tinyPng, useIcons } from './testing.ts';

const { database, icons, newHome, sign, preCreate, put, get, removeQueued, objectsOf } = useIcons();

describe('an unused icon', () => {
  const sweep = (home: Home) =>
    testMutation(
      database.db,
      home.admin,
      (ctx) => deleteUnusedTenantIcons(ctx, { tenantId: home.tenant.id }),
      {
        auditTenantId: home.tenant.id,
      },
    );
  const age = (url: string) =>
    sql`update svc.icons set created_at = created_at - interval '25 hours' where id = ${url.split('/').at(-1)}`.execute(
      database.db,
    );

  test('is deleted: a replaced one at once, one without an app after a day, and none in use', async () => {
    const home = await newHome();
    const urls: string[] = [];
    for (const made of [
      await sign(home, home.owner),
      await sign(home, home.owner),
      await preCreate(home, home.owner),
      await preCreate(home, home.owner),
      await preCreate(home, home.owner),
    ]) {
      expect((await put(made.put_url, tinyPng(urls.length))).status).toBe(201);
      urls.push(made.icon_url);
    }
    const [replaced, present, young, old, used] = urls as [string, string, string, string, string];
    for (const url of [present, old, used]) await age(url);
    await sql`update svc.apps set icon_dark_url = ${`${used.replace('svc.', 'old.')}?v=2`} where id = ${home.app.id}`.execute(
      database.db,
    );
    const { value } = await sweep(home);
    expect(value).toEqual({ icons: 2 });
    await removeQueued();
    for (const [url, there] of [
      [replaced, false],
      [present, true],
      [young, true],
      [old, false],
      [used, true],
    ] as const) {
      expect([url, await get(url), await objectsOf(url)]).toEqual([url, there ? 200 : 404, there ? 1 : 0]);
    }
    expect((await sweep(home)).value).toEqual({ icons: 0 });
  });

  test('is deleted when its app is purged', async () => {
    const home = await newHome();
    const other = { ...home, app: await newApp(database.db, home.tenant, home.owner) };
    const [mine, theirs] = [await sign(home, home.owner), await sign(other, home.owner)];
    for (const { put_url } of [mine, theirs]) expect((await put(put_url)).status).toBe(201);
    const at = { tenantId: home.tenant.id, appId: home.app.id };
    const { value } = await testMutation(database.db, home.admin, (ctx) => purgeIcons(ctx, at), {
      auditTenantId: home.tenant.id,
    });
    expect(value).toEqual({ icons: 1 });
    await removeQueued();
    expect([await get(mine.icon_url), await objectsOf(mine.icon_url)]).toEqual([404, 0]);
    expect([await get(theirs.icon_url), await objectsOf(theirs.icon_url)]).toEqual([200, 1]);
  });

  test('includes objects without a row that are a day old', async () => {
    const home = await newHome();
    const signed = await sign(home, home.owner);
    expect((await put(signed.put_url)).status).toBe(201);
    const id = Bun.randomUUIDv7();
    const own = signed.icon_url.split('/').at(-1)!;
    async function* bytes() {
      yield tinyPng(9);
    }
    for (const key of [`icons/${id}/${'0'.repeat(64)}`, `icons/${own}/${'0'.repeat(64)}`])
      await icons.objects.put(key, bytes(), { bytesMax: 100 });
    await deleteOrphanedIconObjects({ db: database.db, objects: icons.objects, now: new Date() });
    expect([await objectsOf(id), await objectsOf(own)]).toEqual([1, 2]);
    const tomorrow = new Date(Date.now() + 25 * 3_600_000);
    await deleteOrphanedIconObjects({ db: database.db, objects: icons.objects, now: tomorrow });
    expect([await objectsOf(id), await objectsOf(own)]).toEqual([0, 1]);
    expect(await get(signed.icon_url)).toBe(200);
  });
});

describe('an icon', () => {
  test('is served with long caching, HEAD and 304, and cannot run scripts', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    await put(put_url);
    const { status, headers } = await icons.send('HEAD', icon_url);
    expect([status, headers.get('content-length'), headers.get('content-type')]).toEqual([
      200,
      '34',
      'image/png',
    ]);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    const etag = headers.get('etag')!;
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    for (const [sent, expected] of [
      [etag, 304],
      [`W/${etag}, "x"`, 304],
      ['*', 304],
      ['"x"', 200],
    ] as const)
      expect((await icons.send('GET', icon_url, { headers: { 'if-none-match': sent } })).status).toBe(
        expected,
      );
  });

  test('has one URL spelling and allows no other method', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    await put(put_url);
    const id = icon_url.split('/').at(-1)!;
    for (const odd of [id.toUpperCase(), `${id}/`, `${id}%00`, '..', '', Bun.randomUUIDv7()])
      expect([odd, await get(`${signer.baseUrl}/icons/${odd}`)]).toEqual([odd, 404]);
    for (const method of ['POST', 'DELETE', 'PATCH'])
      expect((await icons.send(method, icon_url)).headers.get('allow')).toBe('GET, HEAD, PUT');
  });

  test('whose object is missing gives 404', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    await put(put_url);
    for await (const { key } of icons.objects.list(`icons/${icon_url.split('/').at(-1)}`))
      await icons.objects.delete(key);
    expect(await get(icon_url)).toBe(404);
  });
});
