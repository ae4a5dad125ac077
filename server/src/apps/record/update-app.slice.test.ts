import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { loginHeaders, msUntilRefused, useServer } from '../../identity/provider/testing.ts';
import { newOwnedApp, startAppServer } from './testing.ts';

const { database, server } = useServer(startAppServer);

async function world(visibility: 'private' | 'invite_only' | 'public' | 'internet' = 'private') {
  const { db } = database;
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db, { visibility });
  const logins = {
    owner: await loginHeaders(database, owner),
    coOwner: await loginHeaders(database, coOwner),
    admin: await loginHeaders(database, admin),
    member: await loginHeaders(database, member),
  };
  const path = `/api/v1/tenants/${tenant.slug}/apps`;
  const patch = (who: keyof typeof logins, body: unknown) =>
    server.call(logins[who], 'PATCH', `${path}/${app.slug}`, body);
  return { tenant, app, logins, path, patch };
}

describe('an update', () => {
  test('changes the fields that it names and keeps the rest', async () => {
    const { patch } = await world();
    const first = await patch('owner', {
      name: 'Pet Shop',
      summary: 'For pets',
      description: 'x'.repeat(20_000),
      cost_center: '4711',
      auth_mode: 'api_key',
      data_scopes: ['b', 'a', 'b'],
      resource_preset: 'L',
      icon_url: 'https://example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31',
      icon_dark_url: 'https://example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b32',
    });
    expect([first.status, first.body.changed]).toEqual([200, undefined]);
    const cleared = { description: '', cost_center: null, icon_url: null };
    const second = await patch('coOwner', cleared);
    expect(second.body).toEqual({ ...first.body, ...cleared, updated_at: second.body.updated_at });
    expect(second.body).toMatchObject({ data_scopes: ['b', 'a'], resource_preset: 'L', summary: 'For pets' });
  });

  test('that changes nothing reports that, and keeps `updated_at` and the audit log', async () => {
    const { patch, app } = await world();
    const before = await patch('owner', { summary: 'For pets' });
    const again = await patch('owner', { summary: 'For pets', slug: app.slug, deploy_method: 'docker' });
    expect(again.body).toEqual({ ...before.body, changed: false });
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from svc.audit_entries where app_id = ${app.id} and action = 'apps.update'`.execute(
      database.db,
    );
    expect(rows[0]?.n).toBe(1);
  });

  test('counts characters, not bytes, and refuses more than allowed', async () => {
    const { patch } = await world();
    const cases: [string, unknown, number][] = [
      ['name', '😀'.repeat(100), 200],
      ['name', '😀'.repeat(101), 400],
      ['name', ' ', 400],
      ['name', '', 400],
      ['summary', 'é'.repeat(60), 200],
      ['summary', 'é'.repeat(61), 400],
      ['summary', 'two\nlines', 400],
      ['description', '漢'.repeat(20_000), 200],
      ['description', '漢'.repeat(20_001), 400],
      ['icon_url', 'javascript:alert(1)', 400],
      ['icon_url', 'https://example.test/i.png', 400],
      ['icon_url', 'https://user:secret@example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31', 400],
      ['auth_mode', 'none', 400],
      ['data_scopes', Array.from({ length: 51 }, (_, at) => `s${at}`), 400],
      ['resource_preset', 'XXL', 400],
      ['nothing_known', 1, 400],
    ];
    for (const [field, value, status] of cases) {
      const answer = await patch('owner', { [field]: value });
      expect([field, answer.status, answer.body.errors?.[0]?.field]).toEqual([
        field,
        status,
        status === 400 ? answer.body.errors?.[0]?.field : undefined,
      ]);
    }
    expect((await patch('owner', {})).status).toBe(400);
  });

  test('never changes slug or deploy method', async () => {
    const { patch } = await world();
    for (const body of [{ deploy_method: 'static' }, { slug: 'another' }, { deploy_method: 'rocket' }]) {
      const { status, body: problem } = await patch('owner', body);
      expect([status, problem.code]).toEqual([409, 'immutable_field']);
    }
  });

  test('can narrow visibility for owners, co-owners and admins, and never widen it', async () => {
    for (const who of ['owner', 'coOwner', 'admin'] as const) {
      const { patch } = await world('public');
      const wider = await patch(who, { visibility: 'internet' });
      expect([who, wider.status, wider.body.code]).toEqual([who, 409, 'visibility_widen_not_allowed']);
      for (const visibility of ['public', 'invite_only', 'private']) {
        const { status, body } = await patch(who, { visibility });
        expect([who, visibility, status, body.visibility]).toEqual([who, visibility, 200, visibility]);
      }
      const back = await patch(who, { visibility: 'invite_only' });
      expect([who, back.body.code]).toEqual([who, 'visibility_widen_not_allowed']);
    }
    const { patch } = await world('public');
    expect((await patch('member', { visibility: 'private' })).status).toBe(403);
  });

  test('by an admin who is no owner can change only the visibility', async () => {
    const { patch } = await world('public');
    for (const body of [{ name: 'Mine now' }, { visibility: 'private', summary: 'shut' }]) {
      const { status, body: problem } = await patch('admin', body);
      expect([status, problem.code]).toEqual([403, 'forbidden']);
    }
  });

  test('that narrows visibility hides the app within a second', async () => {
    const { patch, logins, path, app } = await world('public');
    const see = async () => (await server.call(logins.member, 'GET', `${path}/${app.slug}`)).status;
    expect(await see()).toBe(200);
    await patch('owner', { visibility: 'private' });
    expect(await msUntilRefused([async () => (await see()) === 200])).toBeLessThan(patientMs(1_000));
  });

  test('is refused while the app is archived', async () => {
    const { patch, app } = await world();
    await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);
    expect((await patch('owner', { name: 'Late' })).body.code).toBe('invalid_state_transition');
  });
});

describe('a resource tier', () => {
  test("above the tenant's maximum is refused, but an existing one stays", async () => {
    const { patch, path, logins, tenant } = await world();
    const tooMuch = await patch('owner', { resource_preset: 'XL' });
    expect([tooMuch.status, tooMuch.body.code]).toEqual([422, 'resource_tier_exceeded']);
    const made = await server.call(logins.owner, 'POST', path, { name: 'Big one', resource_preset: 'XL' });
    expect([made.status, made.body.code]).toEqual([422, 'resource_tier_exceeded']);
    expect((await patch('owner', { resource_preset: 'L' })).status).toBe(200);
    await sql`update svc.tenants set max_resource_tier = 'S' where id = ${tenant.id}`.execute(database.db);
    expect((await patch('owner', { resource_preset: 'L', summary: 'As before' })).status).toBe(200);
    expect((await patch('owner', { resource_preset: 'M' })).body.code).toBe('resource_tier_exceeded');
  });
});

describe('a subdomain', () => {
  test('is derived from the slug, with an alternative where that is taken', async () => {
    const [one, other] = [await world(), await world()];
    const slug = `s-${Bun.randomUUIDv7().slice(-12)}`;
    const first = await server.call(one.logins.owner, 'POST', one.path, { name: 'Shop', slug });
    const second = await server.call(other.logins.owner, 'POST', other.path, { name: 'Shop', slug });
    expect(first.body.subdomain).toBe(slug);
    expect(second.body.subdomain).toBe(`${slug}-${other.tenant.slug}`);
    const asked = await server.call(other.logins.owner, 'POST', other.path, {
      name: 'Other',
      subdomain: slug,
    });
    expect([asked.status, asked.body.code]).toEqual([409, 'subdomain_taken']);
    const none = await server.call(one.logins.owner, 'POST', one.path, { name: 'No host', subdomain: null });
    expect([none.status, none.body.subdomain]).toEqual([201, null]);
  });

  test('that is released stays reserved for its tenant for some days', async () => {
    const [one, other] = [await world(), await world()];
    const name = `s-${Bun.randomUUIDv7().slice(-12)}`;
    expect((await one.patch('owner', { subdomain: name })).status).toBe(200);
    expect((await other.patch('owner', { subdomain: name })).body.code).toBe('subdomain_taken');
    expect((await one.patch('owner', { subdomain: null })).body.subdomain).toBeNull();
    expect((await other.patch('owner', { subdomain: name })).body.code).toBe('subdomain_taken');
    const check = await server.call(
      other.logins.owner,
      'GET',
      `${other.path}/availability?subdomain=${name}`,
    );
    expect(check.body.subdomain).toMatchObject({ available: false, reason: 'taken' });
    expect((await one.patch('owner', { subdomain: name })).status).toBe(200);
    await one.patch('owner', { subdomain: null });
    await sql`update svc.reserved_names set until = now() where name = ${name}`.execute(database.db);
    expect((await other.patch('owner', { subdomain: name })).status).toBe(200);
  });

  test('that is reserved, invalid or has two dashes in a row is refused', async () => {
    const { patch } = await world();
    for (const subdomain of ['www', 'admin', 'a--b', 'xn--bcher-kva', '-a', 'a-', 'A', 'a.b', 'a_b', 'x']) {
      expect([subdomain, (await patch('owner', { subdomain })).status]).toEqual([subdomain, 400]);
    }
  });

  test('goes to one of several concurrent requests', async () => {
    const worlds = await Promise.all(Array.from({ length: 6 }, () => world()));
    const subdomain = `s-${Bun.randomUUIDv7().slice(-12)}`;
    const answers = await Promise.all(worlds.map(({ patch }) => patch('owner', { subdomain })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  });
});
