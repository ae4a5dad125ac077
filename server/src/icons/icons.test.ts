import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  iconBytesMax,
  iconsPerPersonMax,
  iconUploadSeconds,
  iconUploadsPerMinuteMax,
} from '@svc/contract/icons.ts';
import { sql } from 'kysely';
import { removeCoOwner } from '../apps/remove-co-owner.ts';
import { newApp } from '../apps/testing.ts';
import { copyOfServer, loginOf } from '../identity/testing.ts';
import type { AppAccess, Caller } from '../plumbing/context.ts';
import {
  codeOf,
  newTenant,
  newUser,
  type TestDatabase,
  type TestTenant,
  testDatabase,
  testMutation,
} from '../testing.ts';
import { preCreateIcon } from './pre-create-icon.ts';
import { purgeIcons } from './purge-icons.ts';
import { removeIconObjects } from './remove-objects.ts';
import { iconRoutes } from './routes.ts';
import { signIcon } from './sign-icon.ts';
import { sweepIconObjects, sweepIconsOf } from './sweep-icons.ts';
import { type IconPlace, newIconPlace, readerCtx, signer, tinyPng } from './testing.ts';

let database: TestDatabase;
let place: IconPlace;
beforeAll(async () => {
  database = await testDatabase();
  place = newIconPlace(database.db);
});
afterAll(async () => {
  place.close();
  await database.close();
});

interface Home extends TestTenant {
  owner: Caller;
  coOwner: Caller;
  app: AppAccess;
}

async function newHome(): Promise<Home> {
  const home = await newTenant(database.db);
  const [owner, coOwner] = [home.member, await newUser(database.db, home.tenant.id)];
  const app = await newApp(database.db, home.tenant, owner, { coOwners: [coOwner] });
  return { ...home, owner, coOwner, app };
}

const sign = ({ tenant, app }: Home, caller: Caller, variant: 'light' | 'dark' = 'light') =>
  signIcon(readerCtx(database.db, caller, { tenant, app }), { signer, variant, type: 'image/png' });
const preCreate = ({ tenant }: Home, caller: Caller) =>
  preCreateIcon(readerCtx(database.db, caller, { tenant }), {
    signer,
    slug: 'yet-to-be',
    variant: 'light',
    type: 'image/png',
  });
const put = async (url: string, body: BodyInit = tinyPng(), headers: Record<string, string> = {}) => {
  const response = await place.send('PUT', url, { body, headers });
  const answer = (await response.json()) as { code?: string; icon_url?: string };
  return { status: response.status, code: answer.code, answer };
};
const get = async (url: string) => (await place.send('GET', url)).status;

async function iconsOf({ app }: Home) {
  const { rows } = await sql<{ icon_url: string | null; icon_dark_url: string | null }>`
    select icon_url, icon_dark_url from svc.apps where id = ${app.id}`.execute(database.db);
  return rows[0]!;
}

async function audited({ tenant }: Home, action: string) {
  const { rows } = await sql<{ actor_id: string; app_id: string | null; changes: string }>`
    select actor_id, app_id, changes from svc.audit_entries
    where tenant_id = ${tenant.id} and action = ${action} order by seq`.execute(database.db);
  return rows;
}

/** What effects have been queued for, and done. */
async function removeQueued(): Promise<void> {
  const { rows } = await sql<{ payload: Record<string, unknown> }>`
    delete from svc.outbox where topic = 'icons.remove' returning payload`.execute(database.db);
  for (const { payload } of rows) await removeIconObjects(place)(payload);
}

async function objectsOf(url: string, { objects } = place): Promise<number> {
  let count = 0;
  for await (const _ of objects.list(`icons/${url.split('/').at(-1)}/`)) count += 1;
  return count;
}

describe('an upload', () => {
  test('makes the image the icon of its app, is audited as who was given the address, and serves its bytes', async () => {
    const home = await newHome();
    const signed = await sign(home, home.coOwner);
    expect(signed.plan.changes).toEqual([
      { path: 'icon_url', before: null, after: '(assigned on execution)', effect: 'update' },
    ]);
    expect(await get(signed.icon_url)).toBe(404);
    const { status, answer } = await put(signed.put_url);
    expect([status, answer.icon_url]).toEqual([201, signed.icon_url]);
    expect(await iconsOf(home)).toEqual({ icon_url: signed.icon_url, icon_dark_url: null });
    const [entry] = await audited(home, 'icons.set');
    expect([entry?.actor_id, entry?.app_id]).toEqual([home.coOwner.userId, home.app.id]);
    const served = await place.send('GET', signed.icon_url);
    expect(new Uint8Array(await served.arrayBuffer())).toEqual(tinyPng());

    const dark = await sign(home, home.owner, 'dark');
    expect((await put(dark.put_url, tinyPng(1))).status).toBe(201);
    expect(await iconsOf(home)).toEqual({ icon_url: signed.icon_url, icon_dark_url: dark.icon_url });
  });

  test('happens once: of twenty at the same time one is taken, and its bytes are what is served', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => put(put_url, tinyPng(at))));
    const won = answers.findIndex(({ status }) => status === 201);
    expect(answers.filter((_, at) => at !== won).map(({ code }) => code)).toEqual(
      Array(19).fill('already_uploaded'),
    );
    const served = await place.send('GET', icon_url);
    expect(new Uint8Array(await served.arrayBuffer())).toEqual(tinyPng(won));
    expect((await put(put_url, tinyPng(77))).code).toBe('already_uploaded');
    expect(await audited(home, 'icons.set')).toHaveLength(1);
  });

  test('is refused once the address has expired, with another token, and with none', async () => {
    const home = await newHome();
    const [one, other] = [await sign(home, home.owner), await sign(home, home.owner)];
    const token = new URL(other.put_url).search;
    for (const url of [one.icon_url, `${one.icon_url}?token=`, `${one.icon_url}${token}`, `${one.put_url}x`])
      expect([url, (await put(url)).code]).toEqual([url, 'forbidden']);
    const elsewhere = newIconPlace(database.db);
    elsewhere.clock.now = new Date(Date.now() + iconUploadSeconds * 1000);
    const late = await elsewhere.send('PUT', one.put_url, { body: tinyPng() });
    elsewhere.close();
    expect(((await late.json()) as { code: string }).code).toBe('url_expired');
    expect((await put(one.put_url)).status).toBe(201);
  });

  test('is refused to who may not any more: taken out as co-owner, out of the tenant, suspended', async () => {
    const home = await newHome();
    const context = { tenant: home.tenant, app: home.app };
    const ofCoOwner = await sign(home, home.coOwner);
    await testMutation(database.db, home.owner, (ctx) => removeCoOwner(ctx, { user: home.coOwner.userId }), {
      context: { ...context, tenant: { ...home.tenant, role: 'tenant_member' } },
    });
    expect((await put(ofCoOwner.put_url)).code).toBe('forbidden');

    const ofMember = await preCreate(home, home.coOwner);
    await sql`delete from svc.memberships where user_id = ${home.coOwner.userId}`.execute(database.db);
    expect((await put(ofMember.put_url)).code).toBe('forbidden');

    const ofOwner = await sign(home, home.owner);
    await sql`update svc.users set status = 'suspended' where id = ${home.owner.userId}`.execute(database.db);
    expect((await put(ofOwner.put_url)).code).toBe('forbidden');
    expect(await iconsOf(home)).toEqual({ icon_url: null, icon_dark_url: null });
  });

  test('to an archived app is refused, and so is the address for one', async () => {
    const home = await newHome();
    const { put_url } = await sign(home, home.owner);
    await sql`update svc.apps set record = 'archived' where id = ${home.app.id}`.execute(database.db);
    expect((await put(put_url)).code).toBe('invalid_state_transition');
    expect(await codeOf(sign(home, home.owner))).toBe('invalid_state_transition');
  });

  test('whose body is still on its way is refused, too, once who sends it was taken out', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.coOwner);
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await sql`delete from svc.app_co_owners where app_id = ${home.app.id}`.execute(database.db);
        controller.enqueue(tinyPng());
        controller.close();
      },
    });
    expect((await put(put_url, body)).code).toBe('forbidden');
    expect([await get(icon_url), (await iconsOf(home)).icon_url]).toEqual([404, null]);
  });

  test('is refused to an admin who was a co-owner, too, although they still see the app', async () => {
    const home = await newHome();
    const app = await newApp(database.db, home.tenant, home.owner, { coOwners: [home.admin] });
    const signed = await sign({ ...home, app }, home.admin);
    await sql`delete from svc.app_co_owners where app_id = ${app.id}`.execute(database.db);
    expect((await put(signed.put_url)).code).toBe('forbidden');
  });

  test('with If-Plan is refused once the app has another icon than it had', async () => {
    const home = await newHome();
    const [first, second] = [await sign(home, home.owner), await sign(home, home.owner)];
    expect(first.plan.fingerprint).toBe(second.plan.fingerprint);
    const ifPlan = { 'if-plan': first.plan.fingerprint };
    expect((await put(first.put_url, tinyPng(), ifPlan)).status).toBe(201);
    expect((await put(second.put_url, tinyPng(), ifPlan)).code).toBe('plan_stale');
    expect((await iconsOf(home)).icon_url).toBe(first.icon_url);
    expect(await get(second.icon_url)).toBe(404);
  });

  test('is judged by its content, and refused too large also where no length is announced', async () => {
    const home = await newHome();
    const { put_url } = await sign(home, home.owner);
    const huge = tinyPng();
    huge.set([0, 0, 0x10, 0x01], 16);
    const streamed = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(tinyPng());
        for (let at = 0; at < 8; at++) controller.enqueue(new Uint8Array(iconBytesMax / 8));
        controller.close();
      },
    });
    for (const [body, code] of [
      [new Uint8Array(0), 'unsupported_media_type'],
      ['<!doctype html>', 'unsupported_media_type'],
      ['GIF89a\x01\0\x01\0', 'unsupported_media_type'],
      [tinyPng().slice(0, 16), 'validation_failed'],
      [huge, 'validation_failed'],
      [streamed, 'payload_too_large'],
    ] as const)
      expect((await put(put_url, body, { 'content-type': 'image/png' })).code).toBe(code);
    expect((await put(put_url, tinyPng(), { 'content-type': 'text/html' })).code).toBe(
      'unsupported_media_type',
    );
    expect(await iconsOf(home)).toEqual({ icon_url: null, icon_dark_url: null });
    expect((await put(put_url)).status).toBe(201);
  });

  const fill = (home: Home) =>
    sql`insert into svc.icons
      (id, tenant_id, variant, content_type, size, sha256, width, height, created_by, created_at)
      select gen_random_uuid(), ${home.tenant.id}, 'light', 'image/png', 1, repeat('0', 64), 1, 1,
        ${home.owner.userId}, now() from generate_series(1, ${iconsPerPersonMax}::int)`.execute(database.db);
  const archive = ({ app }: Home) =>
    sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);

  test('is refused to who has uploaded a hundred within a day', async () => {
    const home = await newHome();
    await fill(home);
    expect((await put((await sign(home, home.owner)).put_url)).code).toBe('limit_reached');
    expect((await put((await sign(home, home.coOwner)).put_url)).status).toBe(201);
  });

  test('that is refused by its plan, the limit or the state of the app never reaches the store', async () => {
    const home = await newHome();
    const own = newIconPlace(database.db);
    let stored = 0;
    const store = own.objects.put.bind(own.objects);
    own.objects.put = (...args) => {
      stored += 1;
      return store(...args);
    };
    const [stale, beyond, late] = [
      await sign(home, home.owner),
      await preCreate(home, home.owner),
      await sign(home, home.coOwner),
    ];
    const code = async (url: string, headers = {}) =>
      ((await (await own.send('PUT', url, { body: tinyPng(), headers })).json()) as { code: string }).code;
    expect(await code(stale.put_url, { 'if-plan': 'nope' })).toBe('plan_stale');
    await fill(home);
    expect(await code(beyond.put_url)).toBe('limit_reached');
    await archive(home);
    expect(await code(late.put_url)).toBe('invalid_state_transition');
    expect(stored).toBe(0);
    own.close();
  });

  test('that is refused after its bytes were stored takes them away again', async () => {
    const home = await newHome();
    const own = newIconPlace(database.db);
    const { put_url, icon_url } = await sign(home, home.owner);
    const store = own.objects.put.bind(own.objects);
    own.objects.put = async (...args) => {
      const done = await store(...args);
      expect(await objectsOf(icon_url, own)).toBe(1);
      await archive(home);
      return done;
    };
    expect((await own.send('PUT', put_url, { body: tinyPng() })).status).toBe(409);
    expect(await objectsOf(icon_url, own)).toBe(0);
    own.close();
  });

  test('of the same bytes by twenty at the same time leaves them once, and there', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(put_url)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect([await get(icon_url), await objectsOf(icon_url)]).toEqual([200, 1]);
  });

  test('and the address for one are to be had so often a minute by one person', async () => {
    const home = await newHome();
    const own = newIconPlace(database.db);
    const send = async (url: string) => (await own.send('PUT', url, { body: 'no image' })).status;
    const [{ put_url }, theirs] = [await sign(home, home.owner), await sign(home, home.coOwner)];
    for (let n = 0; n < iconUploadsPerMinuteMax; n++) expect(await send(put_url)).toBe(415);
    expect([await send(put_url), await send(theirs.put_url)]).toEqual([429, 415]);
    own.clock.now = new Date(own.clock.now.getTime() + 61_000);
    expect(await send(put_url)).toBe(415);
    own.close();

    const server = await copyOfServer(database, undefined, iconRoutes(signer));
    const login = await loginOf(database, home.owner);
    const apps = `/api/v1/tenants/${home.tenant.slug}/apps`;
    const body = { content_type: 'image/png', variant: 'light' };
    for (const [path, given] of [
      [`${apps}/${home.app.slug}/icon/upload-url`, body],
      [`${apps}/icon/upload-url`, { ...body, slug: 'yet-to-be' }],
    ] as const) {
      for (let n = 0; n < iconUploadsPerMinuteMax; n++)
        expect((await server.call(login, 'POST', path, given)).status).toBe(200);
      expect((await server.call(login, 'POST', path, given)).body.code).toBe('rate_limited');
    }
    await server.stop();
  });
});

describe('what no app refers to', () => {
  const sweep = (home: Home) =>
    testMutation(database.db, home.admin, (ctx) => sweepIconsOf(ctx, { tenantId: home.tenant.id }), {
      auditTenantId: home.tenant.id,
    });
  const age = (url: string) =>
    sql`update svc.icons set created_at = created_at - interval '25 hours' where id = ${url.split('/').at(-1)}`.execute(
      database.db,
    );

  test('is swept: a replaced icon soon, one for an app to be after a day, and none that is in use', async () => {
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
    // By another name of the same server, as it may have had before.
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

  test('goes with its app when that is purged', async () => {
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

  test('are bytes without a row as well, once they are a day old', async () => {
    const home = await newHome();
    const signed = await sign(home, home.owner);
    expect((await put(signed.put_url)).status).toBe(201);
    const id = Bun.randomUUIDv7();
    const own = signed.icon_url.split('/').at(-1)!;
    async function* bytes() {
      yield tinyPng(9);
    }
    for (const key of [`icons/${id}/${'0'.repeat(64)}`, `icons/${own}/${'0'.repeat(64)}`])
      await place.objects.put(key, bytes(), { bytesMax: 100 });
    await sweepIconObjects({ db: database.db, objects: place.objects, now: new Date() });
    expect([await objectsOf(id), await objectsOf(own)]).toEqual([1, 2]);
    const tomorrow = new Date(Date.now() + 25 * 3_600_000);
    await sweepIconObjects({ db: database.db, objects: place.objects, now: tomorrow });
    expect([await objectsOf(id), await objectsOf(own)]).toEqual([0, 1]);
    expect(await get(signed.icon_url)).toBe(200);
  });
});

describe('an icon', () => {
  test('is served with long caching, answers HEAD and 304, and can do nothing as a page', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    await put(put_url);
    const { status, headers } = await place.send('HEAD', icon_url);
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
      expect((await place.send('GET', icon_url, { headers: { 'if-none-match': sent } })).status).toBe(
        expected,
      );
  });

  test('has one spelling, and takes no other method', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    await put(put_url);
    const id = icon_url.split('/').at(-1)!;
    for (const odd of [id.toUpperCase(), `${id}/`, `${id}%00`, '..', '', Bun.randomUUIDv7()])
      expect([odd, await get(`${signer.baseUrl}/icons/${odd}`)]).toEqual([odd, 404]);
    for (const method of ['POST', 'DELETE', 'PATCH'])
      expect((await place.send(method, icon_url)).headers.get('allow')).toBe('GET, HEAD, PUT');
  });

  test('whose bytes are lost is not there', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    await put(put_url);
    for await (const { key } of place.objects.list(`icons/${icon_url.split('/').at(-1)}`))
      await place.objects.delete(key);
    expect(await get(icon_url)).toBe(404);
  });
});
