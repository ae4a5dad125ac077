import { expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { createConnector } from '../../access/connectors/connectors.ts';
import { createGrant, getGrant } from '../../access/grants/grants.ts';

import type { Caller, TenantAccess, TenantMutationCtx } from '../../core/context.ts';
import { createPat } from '../../identity/pats/pats.ts';
import {
  loginHeaders,
  msUntilRefused,
  operator,
  patHeaders,
  requestWith,
  useServer,
} from '../../identity/provider/testing.ts';
import { codeOf, newTenant, newUser, testMutation, untilBlocked } from '../../testing.ts';
import { suspendUser } from '../users/users.ts';
import { loadMemberAttributes } from './member-attributes.ts';
import { setMember } from './members.ts';
import type { TenantRole } from './store.ts';

const { database, server } = useServer();

async function world() {
  const { tenant, admin, member } = await newTenant(database.db);
  const path = `/api/v1/tenants/${tenant.slug}/members`;
  const login = await loginHeaders(database, admin);
  return { tenant, admin, member, path, login };
}

const setByOperator = (tenantId: string, userId: string, role: TenantRole | 'none') =>
  testMutation(database.db, operator, (ctx) => setMember(ctx, { tenantId, userId, role }));

test('an admin adds a user, changes the role and removes the user', async () => {
  const { path, login } = await world();
  const user = await newUser(database.db, null);
  const put = (role: string) => server.call(login, 'PUT', `${path}/${user.userId}`, { role });
  const added = await put('tenant_member');
  expect(added.status).toBe(200);
  expect(added.body).toMatchObject({
    user_id: user.userId,
    email: user.email,
    role: 'tenant_member',
    status: 'active',
  });
  const promoted = await put('tenant_admin');
  expect(promoted.body).toEqual({ ...added.body, role: 'tenant_admin' });
  const listed = await server.call(login, 'GET', path);
  expect(listed.body.total).toBe(3);
  expect(listed.body.items).toContainEqual(promoted.body);
  expect((await server.call(login, 'DELETE', `${path}/${user.userId}`)).status).toBe(204);
  expect((await server.call(login, 'DELETE', `${path}/${user.userId}`)).status).toBe(404);
  expect((await server.call(login, 'GET', `${path}?per_page=1&page=2`)).body).toMatchObject({
    total: 2,
    page: 2,
  });
});

test('attributes are merged; an empty value removes one, names and number are limited', async () => {
  const { tenant, member, path, login } = await world();
  const one = `${path}/${member.email}`;
  const patch = (attributes: Record<string, string>) => server.call(login, 'PATCH', one, { attributes });
  expect((await patch({ region: 'eu', team: 'blue' })).body.attributes).toEqual({
    region: 'eu',
    team: 'blue',
  });
  expect((await patch({ region: 'us', team: '' })).body.attributes).toEqual({ region: 'us' });
  const loaded = await loadMemberAttributes(database.db, tenant.id, member.userId);
  expect(loaded).toEqual({ region: 'us' });
  expect((await server.call(login, 'GET', one)).body).toMatchObject({
    email: member.email,
    attributes: loaded,
  });
  const { items } = (await server.call(login, 'GET', path)).body as { items: { attributes: object }[] };
  expect(items.map(({ attributes }) => attributes)).toContainEqual(loaded);

  for (const [name, value] of [
    ['Region', 'eu'],
    ['email', 'x'],
    ['region', 'x'.repeat(257)],
    ['1', 'x'],
  ] as const)
    expect((await patch({ [name]: value })).status).toBe(400);
  const many = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`a${i}`, 'x']));
  expect((await patch(many)).body.code).toBe('validation_failed');
  expect((await patch({ ...many, region: '' })).status).toBe(200);

  // With a role, a user who is not a member is added, by id only.
  const user = await newUser(database.db, null);
  const add = (ref: string, body: object) => server.call(login, 'PATCH', `${path}/${ref}`, body);
  expect((await add(user.userId, { attributes: { region: 'eu' } })).status).toBe(404);
  expect((await add(user.email, { role: 'tenant_member' })).status).toBe(404);
  expect(
    (await add(user.userId, { role: 'tenant_member', attributes: { region: 'eu' } })).body,
  ).toMatchObject({
    role: 'tenant_member',
    attributes: { region: 'eu' },
  });
});

test('members are found by a literal part of their name or address', async () => {
  const { tenant, member, path, login } = await world();
  const user = await newUser(database.db, tenant.id);
  const found = async (q: string) => {
    const { body } = await server.call(login, 'GET', `${path}?q=${encodeURIComponent(q)}`);
    expect(body.total).toBe(body.items.length);
    return body.items.map((one: { user_id: string }) => one.user_id);
  };
  expect(await found(user.email.toUpperCase())).toEqual([user.userId]);
  expect(await found(member.email.slice(0, -4))).toEqual([member.userId]);
  expect(await found('%')).toEqual([]);
  expect((await server.call(login, 'GET', `${path}?q=`)).status).toBe(400);
});

test('setting the role someone has changes nothing and leaves no entry', async () => {
  const { tenant, member, path, login } = await world();
  const answer = await server.call(login, 'PUT', `${path}/${member.userId}`, { role: 'tenant_member' });
  expect(answer).toMatchObject({ status: 200, body: { role: 'tenant_member' } });
  expect((await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/audit`)).body.items).toEqual([]);
});

test('a missing user and a suspended one cannot be added, with the same response', async () => {
  const { path, login } = await world();
  const suspended = await newUser(database.db, null);
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: suspended.userId }));
  const add = (id: string) => server.call(login, 'PUT', `${path}/${id}`, { role: 'tenant_member' });
  const answers = [await add(suspended.userId), await add(Bun.randomUUIDv7())];
  expect(answers[0]).toEqual(answers[1]!);
  expect(answers[0]).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await add('someone@example.test')).status).toBe(404);
});

test('the last active admin can be neither demoted nor removed, whatever other admins are suspended', async () => {
  const { tenant, admin, path, login } = await world();
  const second = await newUser(database.db, tenant.id, 'tenant_admin');
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: second.userId }));
  const demoted = await server.call(login, 'PUT', `${path}/${admin.userId}`, { role: 'tenant_member' });
  const removed = await server.call(login, 'DELETE', `${path}/${admin.userId}`);
  expect([demoted.status, demoted.body.code]).toEqual([409, 'last_admin']);
  expect([removed.status, removed.body.code]).toEqual([409, 'last_admin']);
  // A suspended admin does not count as an active one and can be removed.
  expect((await server.call(login, 'DELETE', `${path}/${second.userId}`)).status).toBe(204);
});

test('the operator may leave a tenant without an admin', async () => {
  const { tenant, admin, member, login } = await world();
  const { value } = await setByOperator(tenant.id, admin.userId, 'none');
  expect(value).toBeNull();
  expect((await setByOperator(tenant.id, admin.userId, 'none')).value).toBeNull();
  expect((await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}`)).status).toBe(404);
  expect((await setByOperator(tenant.id, member.userId, 'tenant_admin')).value?.role).toBe('tenant_admin');
});

test('two admins who demote each other at once: one succeeds, one is refused', async () => {
  for (let round = 0; round < 10; round++) {
    const { tenant, admin, path, login } = await world();
    const second = await newUser(database.db, tenant.id, 'tenant_admin');
    const other = await loginHeaders(database, second);
    const answers = await Promise.all([
      server.call(login, 'PUT', `${path}/${second.userId}`, { role: 'tenant_member' }),
      server.call(other, 'DELETE', `${path}/${admin.userId}`),
    ]);
    const done = answers.filter((answer) => answer.status < 300);
    const refused = answers.filter((answer) => answer.status >= 400);
    expect([done.length, refused.length]).toEqual([1, 1]);
    expect(['forbidden', 'not_found', 'last_admin']).toContain(refused[0]!.body.code);
  }
});

test('two admins who step down at once: one succeeds, the other is the last', async () => {
  for (let round = 0; round < 10; round++) {
    const { tenant, admin, path, login } = await world();
    const second = await newUser(database.db, tenant.id, 'tenant_admin');
    const other = await loginHeaders(database, second);
    const answers = await Promise.all([
      server.call(login, 'DELETE', `${path}/${admin.userId}`),
      server.call(other, 'PUT', `${path}/${second.userId}`, { role: 'tenant_member' }),
    ]);
    const codes = answers.map((answer) => answer.body?.code ?? 'done').sort();
    expect(codes).toEqual(['done', 'last_admin']);
  }
});

test('a demoted admin loses admin rights at once', async () => {
  const { tenant, admin, path, login } = await world();
  await newUser(database.db, tenant.id, 'tenant_admin');
  expect((await server.call(login, 'GET', path)).status).toBe(200);
  expect((await server.call(login, 'PUT', `${path}/${admin.userId}`, { role: 'tenant_member' })).status).toBe(
    200,
  );
  const answer = await server.call(login, 'PUT', `${path}/${admin.userId}`, { role: 'tenant_admin' });
  expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
});

test('a preview shows the change without making it', async () => {
  const { member, path, login } = await world();
  const preview = await server.call(login, 'DELETE', `${path}/${member.userId}?dry_run=true`);
  expect(preview.body.plan).toMatchObject({
    target: { kind: 'member', id: member.userId, name: member.email },
    changes: [{ path: 'role', before: 'tenant_member', after: null, effect: 'delete' }],
  });
  expect((await server.call(login, 'GET', path)).body.total).toBe(2);
});

const noApps = { findOwnedAppId: async () => null };

async function countRights({ tenant, admin }: Awaited<ReturnType<typeof world>>, person: Caller) {
  const change = async <T>(verb: (ctx: TenantMutationCtx) => Promise<T>) =>
    (await testMutation<T, { tenant: TenantAccess }>(database.db, admin, verb, { context: { tenant } }))
      .value;
  const name = `c ${Bun.randomUUIDv7().slice(-12)}`;
  const { id: connector_id } = await change((ctx) =>
    createConnector(ctx, { name, kind: 'http', description: '', writable: false }, noApps),
  );
  const grant = await change((ctx) =>
    createGrant(ctx, {
      subject_id: person.userId,
      subject_kind: 'user',
      connector_id,
      preset_id: 'reader',
      policy_ids: [],
      scope_resource_paths: [],
      reason: '',
      source: 'manual',
      expires_at: '',
    }),
  );
  const pat = await patHeaders(server, await loginHeaders(database, person), tenant.slug);
  const now = async () => {
    const { status, revoked_by } = await change((ctx) => getGrant(ctx, { grantId: grant.id }));
    return {
      grant: status,
      by: revoked_by,
      pat: (await server.authenticate(requestWith(pat.headers))) !== null,
    };
  };
  return { now };
}

test('a member who is removed and added again has no earlier grants or tokens', async () => {
  const here = await world();
  const elsewhere = await world();
  const { tenant, admin, member, path, login } = here;
  const other = await newUser(database.db, tenant.id);
  await setByOperator(elsewhere.tenant.id, member.userId, 'tenant_member');
  const rights = await countRights(here, member);
  const kept = [await countRights(here, other), await countRights(elsewhere, member)];
  const active = { grant: 'active', by: '', pat: true } as const;

  const { body } = await server.call(login, 'DELETE', `${path}/${member.userId}?dry_run=true`);
  expect(body.plan.target).toMatchObject({ kind: 'member', id: member.userId });
  const paths = body.plan.changes.map((change: { path: string }) => change.path);
  expect(paths).toEqual(expect.arrayContaining(['role', 'grant.status', 'pat.status']));
  expect(await rights.now()).toEqual(active);

  expect((await server.call(login, 'DELETE', `${path}/${member.userId}`)).status).toBe(204);
  const added = await server.call(login, 'PUT', `${path}/${member.userId}`, { role: 'tenant_member' });
  expect(added.status).toBe(200);
  expect(await msUntilRefused([async () => (await rights.now()).pat])).toBeLessThan(patientMs(1_000));
  expect(await rights.now()).toEqual({ grant: 'revoked', by: admin.userId, pat: false });
  for (const one of kept) expect(await one.now()).toEqual(active);
  const audit = await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/audit`);
  const actions = audit.body.items.map((entry: { action: string }) => entry.action);
  expect(actions.slice(0, 4).sort()).toEqual([
    'grants.revoke',
    'members.remove',
    'members.set',
    'pats.revoke',
  ]);
});

test('removal by the operator revokes grants and tokens, too', async () => {
  const here = await world();
  const rights = await countRights(here, here.member);
  await setByOperator(here.tenant.id, here.member.userId, 'none');
  expect(await msUntilRefused([async () => (await rights.now()).pat])).toBeLessThan(patientMs(1_000));
  expect(await rights.now()).toEqual({ grant: 'revoked', by: operator.userId, pat: false });
});

test('a change of role leaves grants and tokens as they are', async () => {
  const here = await world();
  const rights = await countRights(here, here.member);
  await setByOperator(here.tenant.id, here.member.userId, 'tenant_admin');
  expect(await rights.now()).toEqual({ grant: 'active', by: '', pat: true });
});

test('a token created during the removal of its owner does not outlast the membership', async () => {
  const { tenant, member, login } = await world();
  const body = { name: 'late', actions: ['read' as const], apps: [] };
  const asMember = { context: { tenant: { ...tenant, role: 'tenant_member' } satisfies TenantAccess } };
  const made = Promise.withResolvers<void>();
  const removed = made.promise.then(() => setByOperator(tenant.id, member.userId, 'none'));
  await testMutation(
    database.db,
    member,
    async (ctx) => {
      await createPat(ctx, body);
      made.resolve();
      await Promise.race([removed, untilBlocked(database.db)]);
    },
    asMember,
  );
  await removed;
  const listed = await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/pats?all=true`);
  expect(listed.body.items).toMatchObject([{ name: 'late', status: 'revoked' }]);
  const late = testMutation(database.db, member, (ctx) => createPat(ctx, body), asMember);
  expect(await codeOf(late)).toBe('not_found');
});
