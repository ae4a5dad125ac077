import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newApp, startAppServer } from '../../apps/record/testing.ts';
import { loginHeaders, useServer } from '../../identity/provider/testing.ts';
import { newTenant } from '../../testing.ts';

const { database, server } = useServer(startAppServer);

async function world() {
  const t = await newTenant(database.db);
  const [admin, member] = [await loginHeaders(database, t.admin), await loginHeaders(database, t.member)];
  const path = `/api/v1/tenants/${t.tenant.slug}`;
  const change = (body: unknown, query = '') => server.call(admin, 'PATCH', path + query, body);
  const actions = async () =>
    (await server.call(admin, 'GET', `${path}/audit`)).body.items.map(
      (entry: { action: string }) => entry.action,
    );
  return { ...t, logins: { admin, member }, path, change, actions };
}

test('an admin changes name and maximum tier; a repeat changes nothing and is not audited', async () => {
  const { change, actions, logins, path, tenant } = await world();
  const made = await change({ name: '  Acme Ltd ', max_resource_tier: 'M' });
  expect(made).toMatchObject({
    status: 200,
    body: { slug: tenant.slug, name: 'Acme Ltd', max_resource_tier: 'M', role: 'tenant_admin' },
  });
  expect(made.body.changed).toBeUndefined();
  expect((await change({ name: 'Acme Ltd' })).body).toEqual({ ...made.body, changed: false });
  expect((await change({ max_resource_tier: 'S' })).body).toMatchObject({ name: 'Acme Ltd' });
  expect(await actions()).toEqual(['tenants.update', 'tenants.update']);
  expect((await server.call(logins.member, 'GET', path)).body).toMatchObject({
    name: 'Acme Ltd',
    max_resource_tier: 'S',
    role: 'tenant_member',
  });
});

test('members cannot change a tenant, and invalid bodies are refused', async () => {
  const { change, actions, logins, path, tenant } = await world();
  const refused = await server.call(logins.member, 'PATCH', path, { name: 'Mine' });
  expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  const bodies = [
    {},
    { name: '' },
    { name: ' ' },
    { name: 'a\nb' },
    { name: 'x'.repeat(201) },
    { slug: 'other' },
  ];
  for (const body of [...bodies, { max_resource_tier: 'XXL' }]) {
    const answer = await change(body);
    expect([body, answer.status, answer.body.code]).toEqual([body, 400, 'validation_failed']);
  }
  expect((await server.call(logins.admin, 'GET', path)).body).toMatchObject({ name: tenant.slug });
  expect(await actions()).toEqual([]);
});

test('a lower tier leaves apps unchanged, warns about higher ones and applies to the next choice', async () => {
  const { change, tenant, member, logins, path } = await world();
  const apps = [];
  for (const tier of ['XL', 'L', 'M', 'S']) {
    const app = await newApp(database.db, tenant, member);
    await sql`update svc.apps set resource_preset = ${tier} where id = ${app.id}`.execute(database.db);
    apps.push({ tier, slug: app.slug });
  }
  const elsewhere = await newTenant(database.db);
  await newApp(database.db, elsewhere.tenant, elsewhere.member);
  await sql`update svc.apps set resource_preset = 'XL' where tenant_id = ${elsewhere.tenant.id}`.execute(
    database.db,
  );

  const warnings = async (tier: string) =>
    (await change({ max_resource_tier: tier }, '?dry_run=true')).body.plan.warnings;
  expect(await warnings('XL')).toEqual([]);
  expect(await warnings('M')).toEqual([
    '2 apps have a higher tier and keep it until their tiers are changed.',
  ]);
  expect(await warnings('XS')).toEqual([
    '4 apps have a higher tier and keep it until their tiers are changed.',
  ]);
  expect((await change({ max_resource_tier: 'M' })).status).toBe(200);
  for (const { tier, slug } of apps) {
    const { body } = await server.call(logins.member, 'GET', `${path}/apps/${slug}`);
    expect(body.resource_preset).toBe(tier);
  }
  const chosen = await server.call(logins.member, 'PATCH', `${path}/apps/${apps[3]!.slug}`, {
    resource_preset: 'L',
  });
  expect([chosen.status, chosen.body.code]).toEqual([422, 'resource_tier_exceeded']);
});
