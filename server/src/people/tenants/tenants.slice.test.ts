import { expect, test } from 'bun:test';
import { loginHeaders, operator, useServer } from '../../identity/provider/testing.ts';
import { codeOf, newTenant, newUser, testMutation } from '../../testing.ts';
import { setMember } from './members.ts';
import { createTenant, findTenant, listTenants } from './tenants.ts';

const { database, server } = useServer();

async function create(input: Parameters<typeof createTenant>[1]) {
  return (await testMutation(database.db, operator, (ctx) => createTenant(ctx, input))).value;
}

const uniqueSlug = () => `made-${Bun.randomUUIDv7().slice(-12)}`;

test('a tenant defaults to its slug as name and L as maximum tier', async () => {
  const slug = uniqueSlug();
  const tenant = await create({ slug });
  expect(tenant).toMatchObject({ slug, name: slug, max_resource_tier: 'L' });
  expect(await findTenant(database, { ref: slug })).toEqual(tenant);
  expect(await findTenant(database, { ref: tenant.id.toUpperCase() })).toEqual(tenant);
  expect(await findTenant(database, { ref: 'No such ref' })).toBeNull();
  expect(await listTenants(database)).toContainEqual(tenant);
  expect(await create({ slug: uniqueSlug(), name: 'Big', maxResourceTier: 'XL' })).toMatchObject({
    name: 'Big',
    max_resource_tier: 'XL',
  });
});

test('a slug is refused when it is in use, malformed, or looks like an id', async () => {
  const slug = uniqueSlug();
  expect(await codeOf(create({ slug }))).toBe('done');
  expect(await codeOf(create({ slug }))).toBe('unique_violation');
  const bad = [
    '',
    'a',
    '1a',
    '-a',
    'a-',
    'A',
    'a_b',
    'a'.repeat(64),
    'abcdef01-0000-7000-8000-000000000000',
    'ab\n',
  ];
  for (const text of bad) expect(await codeOf(create({ slug: text }))).toBe('validation_failed');
  expect(await codeOf(create({ slug: uniqueSlug(), name: ' ' }))).toBe('validation_failed');
});

test('people see the tenants they are in, with their role, by slug or by id', async () => {
  const [first, second, unrelated] = [
    await newTenant(database.db),
    await newTenant(database.db),
    await newTenant(database.db),
  ];
  const { userId } = first.member;
  await testMutation(database.db, operator, (ctx) =>
    setMember(ctx, { tenantId: second.tenant.id, userId, role: 'tenant_admin' }),
  );
  const login = await loginHeaders(database, first.member);
  const { body } = await server.call(login, 'GET', '/api/v1/tenants');
  const seen = body.items.map((item: { id: string; role: string }) => [item.id, item.role]);
  expect(seen.sort()).toEqual([
    [first.tenant.id, 'tenant_member'],
    [second.tenant.id, 'tenant_admin'],
  ]);
  for (const ref of [second.tenant.slug, second.tenant.id, second.tenant.id.toUpperCase()]) {
    const one = await server.call(login, 'GET', `/api/v1/tenants/${ref}`);
    expect(one.body).toMatchObject({ id: second.tenant.id, role: 'tenant_admin', max_resource_tier: 'L' });
  }
  const me = await server.call(login, 'GET', '/api/v1/me');
  expect(me.body).toMatchObject({ id: userId, status: 'active', credential: { kind: 'login' } });
  expect(me.body.tenants.map((tenant: { id: string }) => tenant.id)).not.toContain(unrelated.tenant.id);
  expect(me.body.tenants).toHaveLength(2);
});

test('a foreign tenant and a missing one give the same response', async () => {
  const { tenant } = await newTenant(database.db);
  const outsider = await loginHeaders(database, await newUser(database.db, null));
  const refs = [tenant.slug, tenant.id, 'no-such-tenant', Bun.randomUUIDv7(), '%00', 'A B', "a'--"];
  for (const path of ['', '/members', '/audit', '/pats']) {
    const answers = await Promise.all(
      refs.map((ref) => server.call(outsider, 'GET', `/api/v1/tenants/${ref}${path}`)),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]!);
    expect(answers[0]).toMatchObject({ status: 404, body: { code: 'not_found' } });
  }
});

test('the audit is read newest first, page by page, by admins', async () => {
  const { tenant, admin, member } = await newTenant(database.db);
  const login = await loginHeaders(database, admin);
  const path = `/api/v1/tenants/${tenant.slug}`;
  for (const role of ['tenant_admin', 'tenant_member', 'tenant_admin']) {
    await server.call(login, 'PUT', `${path}/members/${member.userId}`, { role });
  }
  await server.call(login, 'POST', `${path}/pats`, { name: 'ci' });

  const first = await server.call(login, 'GET', `${path}/audit?per_page=3`);
  expect(first.body.items.map((entry: { seq: number }) => entry.seq)).toEqual([4, 3, 2]);
  expect(first.body.items[1]).toMatchObject({
    actor: { kind: 'login', id: admin.userId, name: admin.email },
    action: 'members.set',
    target: { kind: 'member', id: member.userId, name: member.email },
    changes: [{ path: 'role', before: 'tenant_member', after: 'tenant_admin', effect: 'update' }],
    request_id: 'test',
  });
  const second = await server.call(login, 'GET', `${path}/audit?per_page=3&cursor=${first.body.next_cursor}`);
  expect(second.body.items.map((entry: { seq: number }) => entry.seq)).toEqual([1]);
  expect(second.body.next_cursor).toBeNull();

  const count = async (query: string) =>
    (await server.call(login, 'GET', `${path}/audit?${query}`)).body.items.length;
  expect(await count('action=members.set')).toBe(3);
  expect(await count(`target_id=${member.userId}&action=pat.create`)).toBe(0);
});

test('an invalid cursor is refused', async () => {
  const { tenant, admin } = await newTenant(database.db);
  const login = await loginHeaders(database, admin);
  const forged = ['seq:0', 'seq:-1', 'seq:1e3', 'seq:99999999999999999999', '4', ''].map((text) =>
    Buffer.from(text).toString('base64url'),
  );
  for (const cursor of ['x', '***', ...forged]) {
    const answer = await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/audit?cursor=${cursor}`);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
  }
});
