import { expect, test } from 'bun:test';
import { appMembersMax } from '@svc/contract/owners.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { loginHeaders, msUntilRefused, operator, useTwoServers } from '../../identity/provider/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { suspendUser } from '../../people/users/users.ts';
import { newUser, testMutation } from '../../testing.ts';
import { newOwnedApp, startAppServer } from './testing.ts';

const { database, server, other } = useTwoServers(startAppServer);

async function world(visibility: 'private' | 'invite_only' | 'public' = 'invite_only') {
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(database.db, { visibility });
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}`;
  const logins = {
    owner: await loginHeaders(database, owner),
    coOwner: await loginHeaders(database, coOwner),
    admin: await loginHeaders(database, admin),
    member: await loginHeaders(database, member),
  };
  const add = (user: string, by = logins.owner) =>
    server.call(by, 'POST', `${path}/members`, { user_id: user });
  const remove = (user: string, by = logins.owner) => server.call(by, 'DELETE', `${path}/members/${user}`);
  const listed = async (query = '') => {
    const { body } = await server.call(logins.admin, 'GET', `${path}/members${query}`);
    return body.items.map(({ role, user_id }: Record<string, string>) => [role, user_id]);
  };
  const sees = async (login: Record<string, string>) =>
    (await server.call(login, 'GET', path)).status === 200;
  return { tenant, admin, member, owner, coOwner, app, path, logins, add, remove, listed, sees };
}

const setRole = (tenantId: string, userId: string, role: 'tenant_member' | 'none') =>
  testMutation(database.db, operator, (ctx) => setMember(ctx, { tenantId, userId, role }), {
    auditTenantId: tenantId,
  });

test('an invited member sees an invite-only app, but not a private one', async () => {
  const { app, member, logins, add, remove, sees } = await world('private');
  expect((await add(member.email.toUpperCase())).body).toMatchObject({
    user_id: member.userId,
    email: member.email,
    role: 'member',
  });
  expect(await sees(logins.member)).toBe(false);
  await sql`update svc.apps set visibility = 'invite_only' where id = ${app.id}`.execute(database.db);
  const invited = await loginHeaders(database, member);
  expect(await sees(invited)).toBe(true);
  expect((await remove(member.userId)).status).toBe(204);
  expect(await msUntilRefused([() => sees(invited)])).toBeLessThan(patientMs(1_000));
});

test('an invited member cannot do what owners do', async () => {
  const { member, path, logins, add } = await world();
  await add(member.userId);
  for (const [method, below, body] of [
    ['GET', '/members'],
    ['GET', '/co-owners'],
    ['POST', '/members', { user_id: member.userId }],
    ['POST', '/ownership/transfer', { to: member.userId }],
  ] as const) {
    const answer = await server.call(logins.member, method, path + below, body);
    expect([below, answer.status, answer.body.code]).toEqual([below, 403, 'forbidden']);
  }
});

test('owners and admins list the owner, co-owners and members, by page', async () => {
  const { tenant, member, owner, coOwner, path, logins, add, listed } = await world();
  const second = await newUser(database.db, tenant.id);
  for (const { userId } of [member, second]) expect((await add(userId, logins.coOwner)).status).toBe(201);
  const all = [
    ['owner', owner.userId],
    ['co_owner', coOwner.userId],
    ['member', member.userId],
    ['member', second.userId],
  ];
  expect(await listed()).toEqual(all);
  expect(await listed('?per_page=3&page=2')).toEqual(all.slice(3));
  for (const by of [logins.owner, logins.coOwner]) {
    const { status, body } = await server.call(by, 'GET', `${path}/members?per_page=1`);
    expect([status, body.total, body.per_page]).toEqual([200, 4, 1]);
  }
  expect((await server.call(logins.owner, 'GET', `${path}/members?per_page=201`)).status).toBe(400);
  expect((await server.call(logins.owner, 'GET', `${path}/members`)).body.per_page).toBe(50);
});

test('owners invite, an admin can only remove, and a member can only leave', async () => {
  const { tenant, member, logins, add, remove } = await world();
  const third = await newUser(database.db, tenant.id);
  expect((await add(member.userId, logins.admin)).body.code).toBe('forbidden');
  for (const { userId } of [member, third]) expect((await add(userId)).status).toBe(201);
  expect((await remove(third.userId, logins.member)).body.code).toBe('forbidden');
  expect((await remove('nobody', logins.member)).body.code).toBe('forbidden');
  expect((await remove(member.email, logins.member)).status).toBe(204);
  expect((await remove(third.userId, logins.admin)).status).toBe(204);
  expect((await add(third.userId, logins.coOwner)).status).toBe(201);
  expect((await remove(third.userId, logins.coOwner)).status).toBe(204);
});

test('a former member, an owner and a stranger cannot be removed as members', async () => {
  const { member, owner, coOwner, add, remove } = await world();
  await add(member.userId);
  expect((await remove(member.userId)).status).toBe(204);
  for (const ref of [
    member.userId,
    owner.userId,
    coOwner.userId,
    Bun.randomUUIDv7(),
    'nobody@example.test',
  ]) {
    const { status, body } = await remove(ref);
    expect([ref, status, body.code]).toEqual([ref, 404, 'not_found']);
  }
});

test('only an active tenant member who is no owner can be invited, once', async () => {
  const { tenant, member, owner, coOwner, add } = await world();
  const [stranger, suspended] = [await newUser(database.db, null), await newUser(database.db, tenant.id)];
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: suspended.userId }));
  for (const ref of [stranger.email, suspended.userId, 'nobody']) {
    const { status, body } = await add(ref);
    expect([ref, status, body.errors[0].code]).toEqual([ref, 400, 'unknown_user']);
  }
  const at = await Promise.all([1, 2, 3].map(() => add(member.userId)));
  expect(at.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
  expect((await add(member.userId)).body.changed).toBe(false);
  for (const { userId } of [owner, coOwner]) expect((await add(userId)).body.code).toBe('unique_violation');
});

test('the number of members of an app is limited', async () => {
  const { tenant, app, member, add } = await world();
  await sql`with people as (
      insert into svc.users (id, email, name, created_at)
      select gen_random_uuid(), n || '@' || ${tenant.slug}::text, 'Someone', now()
      from generate_series(1, ${appMembersMax}::int) n returning id)
    insert into svc.app_members (app_id, user_id, added_by, created_at)
    select ${app.id}, id, id, now() from people`.execute(database.db);
  const { status, body } = await add(member.userId);
  expect([status, body.code]).toEqual([409, 'limit_reached']);
});

test('a member who becomes a co-owner is no longer a member, also after that ends', async () => {
  const { member, owner, coOwner, path, logins, add, listed, sees } = await world();
  await add(member.userId);
  const coOwners = `${path}/co-owners`;
  expect((await server.call(logins.owner, 'POST', coOwners, { user_id: member.userId })).status).toBe(201);
  expect(await listed()).toEqual([
    ['owner', owner.userId],
    ['co_owner', coOwner.userId],
    ['co_owner', member.userId],
  ]);
  expect((await server.call(logins.owner, 'DELETE', `${coOwners}/${member.userId}`)).status).toBe(204);
  expect(await msUntilRefused([() => sees(logins.member)])).toBeLessThan(patientMs(1_000));
});

test('leaving the tenant ends all invitations for good, and is audited', async () => {
  const { tenant, member, owner, coOwner, logins, add, listed, sees } = await world();
  await add(member.userId);
  await setRole(tenant.id, member.userId, 'none');
  await setRole(tenant.id, member.userId, 'tenant_member');
  expect(await listed()).toEqual([
    ['owner', owner.userId],
    ['co_owner', coOwner.userId],
  ]);
  expect(await sees(await loginHeaders(database, member))).toBe(false);
  const audit = `/api/v1/tenants/${tenant.slug}/audit?action=appMembers.remove`;
  expect((await server.call(logins.admin, 'GET', audit)).body.items).toHaveLength(1);
});

test('a person invited while leaving the tenant is refused or loses the invitation', async () => {
  for (let round = 0; round < 4; round++) {
    const { tenant, member, add, listed } = await world();
    const [answer] = await Promise.all([add(member.userId), setRole(tenant.id, member.userId, 'none')]);
    expect([201, 400]).toContain(answer.status);
    expect(await listed()).toHaveLength(2);
  }
});

test('an invitation takes effect and ends on every server within a second', async () => {
  const { member, path, logins, add, remove } = await world();
  const reads = [server, other].map((copy) => async () => {
    const { status } = await copy.call(logins.member, 'GET', path);
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
