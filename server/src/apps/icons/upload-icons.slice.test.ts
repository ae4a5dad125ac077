import { describe, expect, test } from 'bun:test';
import {
  iconBytesMax,
  iconsPerPersonMax,
  iconUploadSeconds,
  iconUploadsPerMinuteMax,
} from '@svc/contract/icons.ts';
import { sql } from 'kysely';
import { loginHeaders, startServerCopy } from '../../identity/provider/testing.ts';
import { codeOf, testMutation } from '../../testing.ts';
import { removeCoOwner } from '../record/people.ts';
import { newApp } from '../record/testing.ts';
import { iconRoutes } from '../routes.ts';
import { type Home, signer, tinyPng, useIcons } from './testing.ts';

const { database, icons, newIconServer, newHome, sign, preCreate, put, get, iconsOf, audited, objectsOf } =
  useIcons();

describe('an upload', () => {
  test("sets the app's icon, is audited for the user who requested the URL, and is served", async () => {
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
    const served = await icons.send('GET', signed.icon_url);
    expect(new Uint8Array(await served.arrayBuffer())).toEqual(tinyPng());

    const dark = await sign(home, home.owner, 'dark');
    expect((await put(dark.put_url, tinyPng(1))).status).toBe(201);
    expect(await iconsOf(home)).toEqual({ icon_url: signed.icon_url, icon_dark_url: dark.icon_url });
  });

  test('succeeds once: of twenty concurrent uploads, one is stored and served', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => put(put_url, tinyPng(at))));
    const won = answers.findIndex(({ status }) => status === 201);
    expect(answers.filter((_, at) => at !== won).map(({ code }) => code)).toEqual(
      Array(19).fill('already_uploaded'),
    );
    const served = await icons.send('GET', icon_url);
    expect(new Uint8Array(await served.arrayBuffer())).toEqual(tinyPng(won));
    expect((await put(put_url, tinyPng(77))).code).toBe('already_uploaded');
    expect(await audited(home, 'icons.set')).toHaveLength(1);
  });

  test('is refused with an expired URL, with another token, and without a token', async () => {
    const home = await newHome();
    const [one, other] = [await sign(home, home.owner), await sign(home, home.owner)];
    const token = new URL(other.put_url).search;
    for (const url of [one.icon_url, `${one.icon_url}?token=`, `${one.icon_url}${token}`, `${one.put_url}x`])
      expect([url, (await put(url)).code]).toEqual([url, 'forbidden']);
    const elsewhere = newIconServer();
    elsewhere.clock.now = new Date(Date.now() + iconUploadSeconds * 1000);
    const late = await elsewhere.send('PUT', one.put_url, { body: tinyPng() });
    elsewhere.close();
    expect(((await late.json()) as { code: string }).code).toBe('url_expired');
    expect((await put(one.put_url)).status).toBe(201);
  });

  test('is refused to a former co-owner, a former member and a suspended user', async () => {
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

  test('is refused for an archived app, as is signing a URL', async () => {
    const home = await newHome();
    const { put_url } = await sign(home, home.owner);
    await sql`update svc.apps set record = 'archived' where id = ${home.app.id}`.execute(database.db);
    expect((await put(put_url)).code).toBe('invalid_state_transition');
    expect(await codeOf(sign(home, home.owner))).toBe('invalid_state_transition');
  });

  test('is refused when the uploader is removed while the body arrives', async () => {
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

  test('is refused to an admin who is no longer a co-owner', async () => {
    const home = await newHome();
    const app = await newApp(database.db, home.tenant, home.owner, { coOwners: [home.admin] });
    const signed = await sign({ ...home, app }, home.admin);
    await sql`delete from svc.app_co_owners where app_id = ${app.id}`.execute(database.db);
    expect((await put(signed.put_url)).code).toBe('forbidden');
  });

  test("with If-Plan is refused after the app's icon has changed", async () => {
    const home = await newHome();
    const [first, second] = [await sign(home, home.owner), await sign(home, home.owner)];
    expect(first.plan.fingerprint).toBe(second.plan.fingerprint);
    const ifPlan = { 'if-plan': first.plan.fingerprint };
    expect((await put(first.put_url, tinyPng(), ifPlan)).status).toBe(201);
    expect((await put(second.put_url, tinyPng(), ifPlan)).code).toBe('plan_stale');
    expect((await iconsOf(home)).icon_url).toBe(first.icon_url);
    expect(await get(second.icon_url)).toBe(404);
  });

  test('is checked by its content, and by its size even without a content length', async () => {
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

  test('is refused after a hundred uploads within a day', async () => {
    const home = await newHome();
    await fill(home);
    expect((await put((await sign(home, home.owner)).put_url)).code).toBe('limit_reached');
    expect((await put((await sign(home, home.coOwner)).put_url)).status).toBe(201);
  });

  test("that is refused by its plan, the limit or the app's state stores no object", async () => {
    const home = await newHome();
    const own = newIconServer();
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

  test('that is refused after its object was stored deletes the object', async () => {
    const home = await newHome();
    const own = newIconServer();
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

  test('of the same bytes by twenty concurrent requests stores one object', async () => {
    const home = await newHome();
    const { put_url, icon_url } = await sign(home, home.owner);
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(put_url)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect([await get(icon_url), await objectsOf(icon_url)]).toEqual([200, 1]);
  });

  test('and the signing of URLs are rate-limited per user', async () => {
    const home = await newHome();
    const own = newIconServer();
    const send = async (url: string) => (await own.send('PUT', url, { body: 'no image' })).status;
    const [{ put_url }, theirs] = [await sign(home, home.owner), await sign(home, home.coOwner)];
    for (let n = 0; n < iconUploadsPerMinuteMax; n++) expect(await send(put_url)).toBe(415);
    expect([await send(put_url), await send(theirs.put_url)]).toEqual([429, 415]);
    own.clock.now = new Date(own.clock.now.getTime() + 61_000);
    expect(await send(put_url)).toBe(415);
    own.close();

    const server = await startServerCopy(database, undefined, iconRoutes(signer));
    const login = await loginHeaders(database, home.owner);
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
