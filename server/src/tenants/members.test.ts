import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyOfServer, loginOf, operator, type ServerCopy } from '../identity/testing.ts';
import type { Db } from '../plumbing/db.ts';
import { newTenant, newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
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
