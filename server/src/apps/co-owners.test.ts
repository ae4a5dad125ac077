import { afterAll, beforeAll, expect, test } from 'bun:test';
import { coOwnersMax } from '@svc/contract/apps.ts';
import { sql } from 'kysely';
import { heardAfterMs, loginOf, operator, type ServerCopy } from '../identity/testing.ts';
import type { Caller } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { setMember } from '../tenants/set-member.ts';
import { codeOf, newTenant, newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { suspendUser } from '../users/suspend-user.ts';
import { addCoOwner } from './add-co-owner.ts';
import { removeCoOwner } from './remove-co-owner.ts';
import { copyWithApps, newApp } from './testing.ts';

let database: TestDatabase;
let db: Db;
/** Two copies of the server on one database. */
let server: ServerCopy;
let other: ServerCopy;

beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  server = await copyWithApps(database);
  other = await copyWithApps(database);
});
afterAll(async () => {
  await server.stop();
  await other.stop();
  await database.close();
});

/** A private app with an owner and a co-owner, and the tenant's admin and a member beside them. */
async function world() {
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}/co-owners`;
  const login = await loginOf(database, owner);
  const add = (user: string, by = login) => server.call(by, 'POST', path, { user_id: user });
  const remove = (user: string, by = login) => server.call(by, 'DELETE', `${path}/${user}`);
  const ids = async () => {
    const { body } = await server.call(login, 'GET', path);
    return body.items.map((item: { user_id: string }) => item.user_id);
  };
  return { tenant, admin, member, owner, coOwner, app, path, login, add, remove, ids };
}

test('the list begins with the representative owner and goes on with co-owners as they came', async () => {
  const { tenant, admin, member, owner, coOwner, path, login, add } = await world();
  const added = await add(member.email.toUpperCase());
  expect(added.status).toBe(201);
  expect(added.body).toMatchObject({ user_id: member.userId, email: member.email, role: 'co_owner' });
  for (const by of [login, await loginOf(database, coOwner), await loginOf(database, admin)]) {
    const { status, body } = await server.call(by, 'GET', path);
    expect([status, body.total]).toEqual([200, 3]);
    expect(body.items).toMatchObject([
      { user_id: owner.userId, email: owner.email, name: owner.name, role: 'owner' },
      { user_id: coOwner.userId, email: coOwner.email, role: 'co_owner' },
      added.body,
    ]);
  }
  const second = await server.call(login, 'GET', `${path}?per_page=2&page=2`);
  expect(second.body).toEqual({ items: [added.body], page: 2, per_page: 2, total: 3 });
  const audit = await server.call(
    await loginOf(database, admin),
    'GET',
    `/api/v1/tenants/${tenant.slug}/audit?action=coOwners.add`,
  );
  expect(audit.body.items[0]).toMatchObject({ target: { kind: 'app' } });
});

test('only an active member of the tenant becomes a co-owner, and the rest look alike', async () => {
  const { tenant, add } = await world();
  const [stranger, suspended] = [await newUser(db, null), await newUser(db, tenant.id)];
  await testMutation(db, operator, (ctx) => suspendUser(ctx, { userId: suspended.userId }));
  const answers = [];
  for (const ref of [stranger.userId, stranger.email, suspended.userId, Bun.randomUUIDv7(), 'nobody'])
    answers.push(await add(ref));
  for (const answer of answers) expect(answer).toEqual(answers[0]!);
  expect(answers[0]).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  expect(answers[0]!.body.errors).toMatchObject([{ field: 'user_id', code: 'unknown_user' }]);
});

test('the owner is no co-owner, and a co-owner who is added again changes nothing', async () => {
  const { owner, coOwner, add, ids } = await world();
  for (const ref of [owner.userId, owner.email]) {
    const { status, body } = await add(ref);
    expect([status, body.code]).toEqual([409, 'unique_violation']);
  }
  for (const ref of [coOwner.userId, coOwner.email]) {
    const { status, body } = await add(ref);
    expect([status, body.changed, body.user_id]).toEqual([200, false, coOwner.userId]);
  }
  expect(await ids()).toEqual([owner.userId, coOwner.userId]);
});

test('a co-owner steps down but removes no other; the owner and an admin remove any', async () => {
  const { tenant, admin, member, owner, coOwner, add, remove, ids } = await world();
  const [byCoOwner, byAdmin] = [await loginOf(database, coOwner), await loginOf(database, admin)];
  const third = await newUser(db, tenant.id);
  for (const { userId } of [member, third]) expect((await add(userId)).status).toBe(201);
  for (const ref of [member.userId, owner.userId, 'nobody', Bun.randomUUIDv7()]) {
    const { status, body } = await remove(ref, byCoOwner);
    expect([ref, status, body.code]).toEqual([ref, 403, 'forbidden']);
  }
  expect((await remove(coOwner.email, byCoOwner)).status).toBe(204);
  expect((await remove(member.userId)).status).toBe(204);
  expect((await remove(third.userId, byAdmin)).status).toBe(204);
  expect(await ids()).toEqual([owner.userId]);
});

test('who is no co-owner can not be removed: a second time, the owner, a stranger', async () => {
  const { owner, coOwner, remove } = await world();
  expect((await remove(coOwner.userId)).status).toBe(204);
  for (const ref of [coOwner.userId, owner.userId, Bun.randomUUIDv7(), 'nobody@example.test']) {
    const { status, body } = await remove(ref);
    expect([ref, status, body.code]).toEqual([ref, 404, 'not_found']);
  }
});

test('a preview names the app and the person, and changes nothing', async () => {
  const { app, member, coOwner, path, login, ids } = await world();
  const before = await ids();
  const adds = await server.call(login, 'POST', `${path}?dry_run=true`, { user_id: member.email });
  expect(adds.body.plan).toMatchObject({
    target: { kind: 'app', id: app.id, name: app.slug },
    changes: [{ path: 'co_owner', before: null, after: { user_id: member.userId, email: member.email } }],
  });
  const removes = await server.call(login, 'DELETE', `${path}/${coOwner.userId}?dry_run=true`);
  expect(removes.body.plan.changes).toMatchObject([
    { path: 'co_owner', before: { user_id: coOwner.userId }, after: null, effect: 'update' },
  ]);
  expect(await ids()).toEqual(before);
});

test('an app has at most so many co-owners, also when the last places are asked for at once', async () => {
  const { tenant, app, path, login, add } = await world();
  // One is there; there is room for one more.
  for (let n = 0; n < coOwnersMax - 2; n++) {
    const { userId } = await newUser(db, tenant.id);
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${userId}, ${userId}, now())`.execute(db);
  }
  const more: Caller[] = [];
  for (let n = 0; n < 4; n++) more.push(await newUser(db, tenant.id));
  const answers = await Promise.all(more.map(({ userId }) => add(userId)));
  expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([
    201,
    'limit_reached',
    'limit_reached',
    'limit_reached',
  ]);
  expect((await server.call(login, 'GET', path)).body.total).toBe(coOwnersMax + 1);
});

test('of several who add one person at once, one changes something; of several who remove, one succeeds', async () => {
  const { member, add, remove } = await world();
  const adds = await Promise.all([1, 2, 3, 4].map(() => add(member.userId)));
  expect(adds.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
  const removes = await Promise.all([1, 2, 3, 4].map(() => remove(member.userId)));
  expect(removes.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404]);
});

test('an owner who has handed the app over meanwhile neither adds nor removes', async () => {
  const { tenant, app, owner, coOwner, member } = await world();
  await sql`update svc.apps set owner_id = ${member.userId} where id = ${app.id}`.execute(db);
  const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const late = { user: coOwner.userId };
  expect(await codeOf(testMutation(db, owner, (ctx) => addCoOwner(ctx, late), { context }))).toBe(
    'forbidden',
  );
  expect(await codeOf(testMutation(db, owner, (ctx) => removeCoOwner(ctx, late), { context }))).toBe(
    'forbidden',
  );
});

/** As the operator does it. */
const setRole = (tenantId: string, userId: string, role: 'tenant_member' | 'none', mode?: 'preview') =>
  testMutation(db, operator, (ctx) => setMember(ctx, { tenantId, userId, role }), {
    auditTenantId: tenantId,
    ...(mode ? { mode } : {}),
  });

test('who leaves the tenant is a co-owner of nothing, also when they come back; what they represent stays', async () => {
  const { tenant, admin, owner, coOwner, app, login, ids } = await world();
  const second = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const own = await newApp(db, tenant, coOwner);
  const elsewhere = await newTenant(db);
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${elsewhere.tenant.id}, ${coOwner.userId}, 'tenant_member', now())`.execute(db);
  const untouched = await newApp(db, elsewhere.tenant, elsewhere.member, { coOwners: [coOwner] });

  const { result } = await setRole(tenant.id, coOwner.userId, 'none', 'preview');
  const planned = result.kind === 'previewed' ? result.plan.changes : [];
  expect(planned.filter(({ path }) => path === 'app.co_owner')).toHaveLength(2);
  expect(await ids()).toEqual([owner.userId, coOwner.userId]);

  await setRole(tenant.id, coOwner.userId, 'none');
  await setRole(tenant.id, coOwner.userId, 'tenant_member');
  expect(await ids()).toEqual([owner.userId]);
  const back = await loginOf(database, coOwner);
  const seen = async (tenantId: string, id: string) =>
    (await server.call(back, 'GET', `/api/v1/tenants/${tenantId}/apps/${id}`)).status;
  expect(await seen(tenant.id, app.id)).toBe(404);
  expect(await seen(tenant.id, second.id)).toBe(404);
  expect(await seen(tenant.id, own.id)).toBe(200);
  expect(await seen(elsewhere.tenant.id, untouched.id)).toBe(200);
  const audit = `/api/v1/tenants/${tenant.slug}/audit?action=coOwners.remove`;
  const { body } = await server.call(await loginOf(database, admin), 'GET', audit);
  expect(body.items.map((entry: { target: { id: string } }) => entry.target.id).sort()).toEqual(
    [app.id, second.id].sort(),
  );
  expect((await server.call(login, 'GET', `/api/v1/tenants/${tenant.id}/apps/${app.id}`)).status).toBe(200);
});

test('one who is made a co-owner while being taken out of the tenant is either refused or is none', async () => {
  for (let round = 0; round < 5; round++) {
    const { tenant, member, owner, coOwner, add, ids } = await world();
    const [answer] = await Promise.all([add(member.userId), setRole(tenant.id, member.userId, 'none')]);
    expect([201, 400]).toContain(answer.status);
    expect(await ids()).toEqual([owner.userId, coOwner.userId]);
  }
});

test('a co-owner who is removed while they leave the tenant is gone once, and nobody waits in vain', async () => {
  const { tenant, owner, coOwner, remove, ids } = await world();
  const [answer] = await Promise.all([remove(coOwner.userId), setRole(tenant.id, coOwner.userId, 'none')]);
  expect([204, 404]).toContain(answer.status);
  expect(await ids()).toEqual([owner.userId]);
});

test('co-ownership begins and ends at every copy of the server within a second', async () => {
  const { member, path, add, remove } = await world();
  const login = await loginOf(database, member);
  const reads = [server, other].map((copy) => async () => {
    const { status } = await copy.call(login, 'GET', path);
    expect([200, 404]).toContain(status);
    return status === 200;
  });
  for (const read of [...reads, ...reads]) expect(await read()).toBe(false);
  expect((await add(member.userId)).status).toBe(201);
  expect(await heardAfterMs(reads.map((read) => async () => !(await read())))).toBeLessThan(1_000);
  // In the caches of both, when this is over.
  for (const read of [...reads, ...reads]) expect(await read()).toBe(true);
  expect((await remove(member.userId)).status).toBe(204);
  expect(await heardAfterMs(reads)).toBeLessThan(1_000);
});
