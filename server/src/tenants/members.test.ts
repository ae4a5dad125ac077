import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createConnector } from '../connectors/create-connector.ts';
import { createGrant } from '../grants/create-grant.ts';
import { getGrant } from '../grants/get-grant.ts';
import {
  copyOfServer,
  heardAfterMs,
  loginOf,
  operator,
  patOf,
  requestWith,
  type ServerCopy,
} from '../identity/testing.ts';
import { createPat } from '../pats/create-pat.ts';
import type { Caller, TenantAccess, TenantMutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { codeOf, newTenant, newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { suspendUser } from '../users/suspend-user.ts';
import { setMember } from './set-member.ts';
import type { TenantRole } from './store.ts';

let database: TestDatabase;
let db: Db;
let server: ServerCopy;

beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  server = await copyOfServer(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

async function world() {
  const { tenant, admin, member } = await newTenant(db);
  const path = `/api/v1/tenants/${tenant.slug}/members`;
  const login = await loginOf(database, admin);
  return { tenant, admin, member, path, login };
}

const setByOperator = (tenantId: string, userId: string, role: TenantRole | 'none') =>
  testMutation(db, operator, (ctx) => setMember(ctx, { tenantId, userId, role }));

test('an admin adds a user, changes the role and takes the user out again', async () => {
  const { path, login } = await world();
  const user = await newUser(db, null);
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

test('members are found by a part of their name or address, taken as it is written', async () => {
  const { tenant, member, path, login } = await world();
  const user = await newUser(db, tenant.id);
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

test('a user who does not exist and one who is suspended can not be added, and look alike', async () => {
  const { path, login } = await world();
  const suspended = await newUser(db, null);
  await testMutation(db, operator, (ctx) => suspendUser(ctx, { userId: suspended.userId }));
  const add = (id: string) => server.call(login, 'PUT', `${path}/${id}`, { role: 'tenant_member' });
  const answers = [await add(suspended.userId), await add(Bun.randomUUIDv7())];
  expect(answers[0]).toEqual(answers[1]!);
  expect(answers[0]).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await add('someone@example.test')).status).toBe(404);
});

test('the last active admin can be neither demoted nor removed, whatever other admins are suspended', async () => {
  const { tenant, admin, path, login } = await world();
  const second = await newUser(db, tenant.id, 'tenant_admin');
  await testMutation(db, operator, (ctx) => suspendUser(ctx, { userId: second.userId }));
  const demoted = await server.call(login, 'PUT', `${path}/${admin.userId}`, { role: 'tenant_member' });
  const removed = await server.call(login, 'DELETE', `${path}/${admin.userId}`);
  expect([demoted.status, demoted.body.code]).toEqual([409, 'last_admin']);
  expect([removed.status, removed.body.code]).toEqual([409, 'last_admin']);
  // The suspended one is none to count on, and may go.
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
    const second = await newUser(db, tenant.id, 'tenant_admin');
    const other = await loginOf(database, second);
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
    const second = await newUser(db, tenant.id, 'tenant_admin');
    const other = await loginOf(database, second);
    const answers = await Promise.all([
      server.call(login, 'DELETE', `${path}/${admin.userId}`),
      server.call(other, 'PUT', `${path}/${second.userId}`, { role: 'tenant_member' }),
    ]);
    const codes = answers.map((answer) => answer.body?.code ?? 'done').sort();
    expect(codes).toEqual(['done', 'last_admin']);
  }
});

test('a demoted admin loses what only admins may do at once', async () => {
  const { tenant, admin, path, login } = await world();
  await newUser(db, tenant.id, 'tenant_admin');
  expect((await server.call(login, 'GET', path)).status).toBe(200);
  expect((await server.call(login, 'PUT', `${path}/${admin.userId}`, { role: 'tenant_member' })).status).toBe(
    200,
  );
  const answer = await server.call(login, 'PUT', `${path}/${admin.userId}`, { role: 'tenant_admin' });
  expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
});

test('a preview shows the change and makes none', async () => {
  const { member, path, login } = await world();
  const preview = await server.call(login, 'DELETE', `${path}/${member.userId}?dry_run=true`);
  expect(preview.body.plan).toMatchObject({
    target: { kind: 'member', id: member.userId, name: member.email },
    changes: [{ path: 'role', before: 'tenant_member', after: null, effect: 'delete' }],
  });
  expect((await server.call(login, 'GET', path)).body.total).toBe(2);
});

/** A grant of the tenant's and a token of the member's own. */
async function rightsOf({ tenant, admin }: Awaited<ReturnType<typeof world>>, person: Caller) {
  const change = async <T>(verb: (ctx: TenantMutationCtx) => Promise<T>) =>
    (await testMutation<T, { tenant: TenantAccess }>(db, admin, verb, { context: { tenant } })).value;
  const name = `c ${Bun.randomUUIDv7().slice(-12)}`;
  const { id: connector_id } = await change((ctx) =>
    createConnector(ctx, { name, kind: 'http', description: '' }),
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
  const pat = await patOf(server, await loginOf(database, person), tenant.slug);
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

test('who is removed and added again has neither the grants nor the tokens of before', async () => {
  const here = await world();
  const elsewhere = await world();
  const { tenant, admin, member, path, login } = here;
  const other = await newUser(db, tenant.id);
  await setByOperator(elsewhere.tenant.id, member.userId, 'tenant_member');
  const rights = await rightsOf(here, member);
  const kept = [await rightsOf(here, other), await rightsOf(elsewhere, member)];
  const active = { grant: 'active', by: '', pat: true } as const;

  const { body } = await server.call(login, 'DELETE', `${path}/${member.userId}?dry_run=true`);
  expect(body.plan.target).toMatchObject({ kind: 'member', id: member.userId });
  const paths = body.plan.changes.map((change: { path: string }) => change.path);
  expect(paths).toEqual(expect.arrayContaining(['role', 'grant.status', 'pat.status']));
  expect(await rights.now()).toEqual(active);

  expect((await server.call(login, 'DELETE', `${path}/${member.userId}`)).status).toBe(204);
  const added = await server.call(login, 'PUT', `${path}/${member.userId}`, { role: 'tenant_member' });
  expect(added.status).toBe(200);
  expect(await heardAfterMs([async () => (await rights.now()).pat])).toBeLessThan(1_000);
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

test('the operator takes grants and tokens with the membership, too', async () => {
  const here = await world();
  const rights = await rightsOf(here, here.member);
  await setByOperator(here.tenant.id, here.member.userId, 'none');
  expect(await heardAfterMs([async () => (await rights.now()).pat])).toBeLessThan(1_000);
  expect(await rights.now()).toEqual({ grant: 'revoked', by: operator.userId, pat: false });
});

test('a change of role leaves grants and tokens as they are', async () => {
  const here = await world();
  const rights = await rightsOf(here, here.member);
  await setByOperator(here.tenant.id, here.member.userId, 'tenant_admin');
  expect(await rights.now()).toEqual({ grant: 'active', by: '', pat: true });
});

test('a token that is made while its owner is removed does not outlast the membership', async () => {
  const { tenant, member, login } = await world();
  const body = { name: 'late', actions: ['read' as const], apps: [] };
  const asMember = { context: { tenant: { ...tenant, role: 'tenant_member' } satisfies TenantAccess } };
  const made = Promise.withResolvers<void>();
  const removed = made.promise.then(() => setByOperator(tenant.id, member.userId, 'none'));
  await testMutation(
    db,
    member,
    async (ctx) => {
      await createPat(ctx, body);
      made.resolve();
      // Time for the removal to come as far as it gets while this is open.
      await Promise.race([removed, Bun.sleep(200)]);
    },
    asMember,
  );
  await removed;
  const listed = await server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/pats?all=true`);
  expect(listed.body.items).toMatchObject([{ name: 'late', status: 'revoked' }]);
  // And one whose membership was checked before it was taken away makes none.
  const late = testMutation(db, member, (ctx) => createPat(ctx, body), asMember);
  expect(await codeOf(late)).toBe('not_found');
});
