import { expect, test } from 'bun:test';
import { coOwnersMax } from '@svc/contract/apps.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import type { Caller } from '../../core/context.ts';
import { loginHeaders, msUntilRefused, operator, useTwoServers } from '../../identity/provider/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { suspendUser } from '../../people/users/users.ts';
import { codeOf, newTenant, newUser, testMutation } from '../../testing.ts';
import { addCoOwner, removeCoOwner } from './people.ts';

import { newApp, newOwnedApp, startAppServer } from './testing.ts';

const { database, server, other } = useTwoServers(startAppServer);

async function world() {
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(database.db);
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}/co-owners`;
  const login = await loginHeaders(database, owner);
  const add = (user: string, by = login) => server.call(by, 'POST', path, { user_id: user });
  const remove = (user: string, by = login) => server.call(by, 'DELETE', `${path}/${user}`);
  const ids = async () => {
    const { body } = await server.call(login, 'GET', path);
    return body.items.map((item: { user_id: string }) => item.user_id);
  };
  return { tenant, admin, member, owner, coOwner, app, path, login, add, remove, ids };
}

test('the list has the representative owner first, then co-owners in order of addition', async () => {
  const { tenant, admin, member, owner, coOwner, path, login, add } = await world();
  const added = await add(member.email.toUpperCase());
  expect(added.status).toBe(201);
  expect(added.body).toMatchObject({ user_id: member.userId, email: member.email, role: 'co_owner' });
  for (const by of [login, await loginHeaders(database, coOwner), await loginHeaders(database, admin)]) {
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
    await loginHeaders(database, admin),
    'GET',
    `/api/v1/tenants/${tenant.slug}/audit?action=coOwners.add`,
  );
  expect(audit.body.items[0]).toMatchObject({ target: { kind: 'app' } });
});

test('only an active tenant member becomes a co-owner; all others get the same answer', async () => {
  const { tenant, add } = await world();
  const [stranger, suspended] = [await newUser(database.db, null), await newUser(database.db, tenant.id)];
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: suspended.userId }));
  const answers = [];
  for (const ref of [stranger.userId, stranger.email, suspended.userId, Bun.randomUUIDv7(), 'nobody'])
    answers.push(await add(ref));
  for (const answer of answers) expect(answer).toEqual(answers[0]!);
  expect(answers[0]).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  expect(answers[0]!.body.errors).toMatchObject([{ field: 'user_id', code: 'unknown_user' }]);
});

test('the owner cannot become a co-owner, and adding a co-owner again changes nothing', async () => {
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

test('a co-owner can only step down; the owner and admins can remove any co-owner', async () => {
  const { tenant, admin, member, owner, coOwner, add, remove, ids } = await world();
  const [byCoOwner, byAdmin] = [await loginHeaders(database, coOwner), await loginHeaders(database, admin)];
  const third = await newUser(database.db, tenant.id);
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

test('a former co-owner, the owner and a stranger cannot be removed as co-owners', async () => {
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

test('the number of co-owners is limited, also with concurrent requests', async () => {
  const { tenant, app, path, login, add } = await world();
  for (let n = 0; n < coOwnersMax - 2; n++) {
    const { userId } = await newUser(database.db, tenant.id);
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${userId}, ${userId}, now())`.execute(database.db);
  }
  const more: Caller[] = [];
  for (let n = 0; n < 4; n++) more.push(await newUser(database.db, tenant.id));
  const answers = await Promise.all(more.map(({ userId }) => add(userId)));
  expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([
    201,
    'limit_reached',
    'limit_reached',
    'limit_reached',
  ]);
  expect((await server.call(login, 'GET', path)).body.total).toBe(coOwnersMax + 1);
});

test('of concurrent additions one changes something, and of concurrent removals one succeeds', async () => {
  const { member, add, remove } = await world();
  const adds = await Promise.all([1, 2, 3, 4].map(() => add(member.userId)));
  expect(adds.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
  const removes = await Promise.all([1, 2, 3, 4].map(() => remove(member.userId)));
  expect(removes.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404]);
});

test('a former owner whose request waited can neither add nor remove co-owners', async () => {
  const { tenant, app, owner, coOwner, member } = await world();
  await sql`update svc.apps set owner_id = ${member.userId} where id = ${app.id}`.execute(database.db);
  const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const late = { user: coOwner.userId };
  expect(await codeOf(testMutation(database.db, owner, (ctx) => addCoOwner(ctx, late), { context }))).toBe(
    'forbidden',
  );
  expect(await codeOf(testMutation(database.db, owner, (ctx) => removeCoOwner(ctx, late), { context }))).toBe(
    'forbidden',
  );
});

const setRole = (tenantId: string, userId: string, role: 'tenant_member' | 'none', mode?: 'preview') =>
  testMutation(database.db, operator, (ctx) => setMember(ctx, { tenantId, userId, role }), {
    auditTenantId: tenantId,
    ...(mode ? { mode } : {}),
  });

test('leaving the tenant ends all co-ownerships for good, but not ownership', async () => {
  const { tenant, admin, owner, coOwner, app, login, ids } = await world();
  const second = await newApp(database.db, tenant, owner, { coOwners: [coOwner] });
  const own = await newApp(database.db, tenant, coOwner);
  const elsewhere = await newTenant(database.db);
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${elsewhere.tenant.id}, ${coOwner.userId}, 'tenant_member', now())`.execute(database.db);
  const untouched = await newApp(database.db, elsewhere.tenant, elsewhere.member, { coOwners: [coOwner] });

  const { result } = await setRole(tenant.id, coOwner.userId, 'none', 'preview');
  const planned = result.kind === 'previewed' ? result.plan.changes : [];
  expect(planned.filter(({ path }) => path === 'app.co_owner')).toHaveLength(2);
  expect(await ids()).toEqual([owner.userId, coOwner.userId]);

  await setRole(tenant.id, coOwner.userId, 'none');
  await setRole(tenant.id, coOwner.userId, 'tenant_member');
  expect(await ids()).toEqual([owner.userId]);
  const back = await loginHeaders(database, coOwner);
  const seen = async (tenantId: string, id: string) =>
    (await server.call(back, 'GET', `/api/v1/tenants/${tenantId}/apps/${id}`)).status;
  expect(await seen(tenant.id, app.id)).toBe(404);
  expect(await seen(tenant.id, second.id)).toBe(404);
  expect(await seen(tenant.id, own.id)).toBe(200);
  expect(await seen(elsewhere.tenant.id, untouched.id)).toBe(200);
  const audit = `/api/v1/tenants/${tenant.slug}/audit?action=coOwners.remove`;
  const { body } = await server.call(await loginHeaders(database, admin), 'GET', audit);
  expect(body.items.map((entry: { target: { id: string } }) => entry.target.id).sort()).toEqual(
    [app.id, second.id].sort(),
  );
  expect((await server.call(login, 'GET', `/api/v1/tenants/${tenant.id}/apps/${app.id}`)).status).toBe(200);
});

test('a person added while leaving the tenant is refused or loses the co-ownership', async () => {
  for (let round = 0; round < 5; round++) {
    const { tenant, member, owner, coOwner, add, ids } = await world();
    const [answer] = await Promise.all([add(member.userId), setRole(tenant.id, member.userId, 'none')]);
    expect([201, 400]).toContain(answer.status);
    expect(await ids()).toEqual([owner.userId, coOwner.userId]);
  }
});

test('removing a co-owner who leaves the tenant at the same time does not deadlock', async () => {
  const { tenant, owner, coOwner, remove, ids } = await world();
  const [answer] = await Promise.all([remove(coOwner.userId), setRole(tenant.id, coOwner.userId, 'none')]);
  expect([204, 404]).toContain(answer.status);
  expect(await ids()).toEqual([owner.userId]);
});

test('co-ownership takes effect and ends on every server within a second', async () => {
  const { member, path, add, remove } = await world();
  const login = await loginHeaders(database, member);
  const reads = [server, other].map((copy) => async () => {
    const { status } = await copy.call(login, 'GET', path);
    expect([200, 404]).toContain(status);
    return status === 200;
  });
  for (const read of [...reads, ...reads]) expect(await read()).toBe(false);
  expect((await add(member.userId)).status).toBe(201);
  expect(await msUntilRefused(reads.map((read) => async () => !(await read())))).toBeLessThan(
    patientMs(1_000),
  );
  for (const read of [...reads, ...reads]) expect(await read()).toBe(true);
  expect((await remove(member.userId)).status).toBe(204);
  expect(await msUntilRefused(reads)).toBeLessThan(patientMs(1_000));
});
