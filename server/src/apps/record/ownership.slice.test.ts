import { expect, test } from 'bun:test';
import { coOwnersMax } from '@svc/contract/apps.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import { loginHeaders, msUntilRefused, operator, useTwoServers } from '../../identity/provider/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { suspendUser } from '../../people/users/users.ts';
import { codeOf, newUser, testMutation } from '../../testing.ts';
import { transferOwnership } from './ownership.ts';
import { newOwnedApp, startAppServer } from './testing.ts';

const { database, server, other } = useTwoServers(startAppServer);

async function world() {
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(database.db);
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}`;
  const login = await loginHeaders(database, owner);
  const byAdmin = await loginHeaders(database, admin);
  const transfer = (to: string, by = login, query = '') =>
    server.call(by, 'POST', `${path}/ownership/transfer${query}`, { to });
  const owners = async () => {
    const { body } = await server.call(byAdmin, 'GET', `${path}/co-owners?per_page=200`);
    return body.items.map(({ role, user_id }: { role: string; user_id: string }) => [role, user_id]);
  };
  const audit = async (): Promise<{ action: string; changes: { path: string; after: unknown }[] }[]> =>
    (await server.call(byAdmin, 'GET', `/api/v1/tenants/${tenant.slug}/audit`)).body.items;
  return { tenant, admin, member, owner, coOwner, app, path, login, byAdmin, transfer, owners, audit };
}

const suspend = ({ userId }: Caller) =>
  testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId }));
const takeOut = (tenant: TenantAccess, { userId }: Caller) =>
  testMutation(
    database.db,
    operator,
    (ctx) => setMember(ctx, { tenantId: tenant.id, userId, role: 'none' }),
    {
      auditTenantId: tenant.id,
    },
  );

test('a transfer makes the recipient the owner and the previous owner a co-owner', async () => {
  const { member, owner, coOwner, app, transfer, owners, path, login } = await world();
  const created = (await server.call(login, 'GET', `${path}/co-owners`)).body.items[0].since;
  const { status, body } = await transfer(member.email.toUpperCase());
  expect([status, body]).toEqual([
    200,
    {
      app_id: app.id,
      owner: expect.objectContaining({ user_id: member.userId, email: member.email, role: 'owner' }),
      previous_owner: expect.objectContaining({ user_id: owner.userId, role: 'co_owner' }),
    },
  ]);
  expect(await owners()).toEqual([
    ['owner', member.userId],
    ['co_owner', coOwner.userId],
    ['co_owner', owner.userId],
  ]);
  const { items } = (await server.call(login, 'GET', `${path}/co-owners`)).body;
  expect([items[0].since, items[0].since > created]).toEqual([body.owner.since, true]);
  expect((await server.call(login, 'GET', path)).body).toMatchObject({
    owner_id: member.userId,
    updated_at: body.owner.since,
  });
});

test('only the new owner can transfer the app back', async () => {
  const { member, owner, transfer, owners } = await world();
  expect((await transfer(member.userId)).status).toBe(200);
  const again = await transfer(member.userId);
  expect([again.status, again.body.code]).toEqual([403, 'forbidden']);
  expect((await transfer(owner.userId, await loginHeaders(database, member))).status).toBe(200);
  expect((await owners())[0]).toEqual(['owner', owner.userId]);
});

test('a co-owner or member who becomes the owner loses the other role', async () => {
  const { member, owner, coOwner, path, login, transfer, owners } = await world();
  expect((await server.call(login, 'POST', `${path}/members`, { user_id: member.userId })).status).toBe(201);
  expect((await transfer(coOwner.userId)).status).toBe(200);
  expect(await owners()).toEqual([
    ['owner', coOwner.userId],
    ['co_owner', owner.userId],
  ]);
  expect((await transfer(member.userId, await loginHeaders(database, coOwner))).status).toBe(200);
  const { body } = await server.call(login, 'GET', `${path}/members`);
  expect(body.items.map(({ role, user_id }: Record<string, string>) => [role, user_id])).toEqual([
    ['owner', member.userId],
    ['co_owner', owner.userId],
    ['co_owner', coOwner.userId],
  ]);
});

test('only another active member can become the owner; all others get the same answer', async () => {
  const { tenant, owner, transfer } = await world();
  const [stranger, suspended] = [await newUser(database.db, null), await newUser(database.db, tenant.id)];
  await suspend(suspended);
  const answers = [];
  for (const ref of [stranger.userId, stranger.email, suspended.userId, Bun.randomUUIDv7(), 'nobody'])
    answers.push(await transfer(ref));
  for (const answer of answers) expect(answer).toEqual(answers[0]!);
  expect(answers[0]).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  expect(answers[0]!.body.errors).toMatchObject([{ field: 'to', code: 'unknown_user' }]);
  const self = await transfer(owner.email);
  expect([self.status, self.body.code, self.body.errors[0].code]).toEqual([
    400,
    'validation_failed',
    'invalid',
  ]);
});

test('a co-owner cannot transfer, nor can an admin while the owner is able to', async () => {
  const { member, coOwner, byAdmin, transfer } = await world();
  for (const by of [await loginHeaders(database, coOwner), byAdmin]) {
    const { status, body } = await transfer(member.userId, by);
    expect([status, body.code]).toEqual([403, 'forbidden']);
  }
});

test('an admin can transfer for a suspended owner, who becomes a co-owner; it is audited', async () => {
  const { member, owner, coOwner, byAdmin, transfer, owners, audit } = await world();
  await suspend(owner);
  const { plan } = (await transfer(member.userId, byAdmin, '?dry_run=true')).body;
  expect([plan.irreversible, plan.warnings]).toEqual([
    true,
    [
      `You act for the owner: ${owner.email} is suspended.`,
      `Only ${member.email} can transfer the app back.`,
    ],
  ]);
  expect((await transfer(member.userId, byAdmin)).body.previous_owner.role).toBe('co_owner');
  expect(await owners()).toEqual([
    ['owner', member.userId],
    ['co_owner', coOwner.userId],
    ['co_owner', owner.userId],
  ]);
  const entry = (await audit()).find(({ action }) => action === 'ownership.transfer');
  expect(entry?.changes).toContainEqual(
    expect.objectContaining({ path: 'in_place_of_owner', after: 'suspended' }),
  );
  expect((await transfer(owner.userId, byAdmin)).status).toBe(403);
});

test('an admin can transfer the app of an owner who left; a returning owner has no role', async () => {
  const { tenant, member, owner, coOwner, byAdmin, transfer, owners, audit } = await world();
  await takeOut(tenant, owner);
  const { body } = await transfer(member.userId, byAdmin);
  expect(body.previous_owner).toMatchObject({ user_id: owner.userId, role: 'none' });
  expect(await owners()).toEqual([
    ['owner', member.userId],
    ['co_owner', coOwner.userId],
  ]);
  const [entry] = await audit();
  expect([entry?.action, entry?.changes.at(-1)]).toMatchObject([
    'ownership.transfer',
    { path: 'in_place_of_owner', after: 'not_a_member' },
  ]);
});

test('an admin who acts for the owner cannot take the app, except as its co-owner', async () => {
  for (const obstacle of ['suspended', 'left']) {
    const { tenant, admin, app, owner, byAdmin, transfer, owners } = await world();
    await (obstacle === 'left' ? takeOut(tenant, owner) : suspend(owner));
    for (const [ref, query] of [
      [admin.userId, ''],
      [admin.email, '?dry_run=true'],
    ] as const) {
      const { status, body } = await transfer(ref, byAdmin, query);
      expect([status, body.code, body.detail]).toEqual([
        403,
        'forbidden',
        'An admin who acts for the owner must name somebody else; a co-owner can name themself.',
      ]);
    }
    expect((await owners())[0]).toEqual(['owner', owner.userId]);
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${admin.userId}, ${owner.userId}, now())`.execute(database.db);
    expect((await transfer(admin.userId, byAdmin)).status).toBe(200);
    expect((await owners())[0]).toEqual(['owner', admin.userId]);
  }
});

test('the limit of co-owners does not prevent a transfer', async () => {
  const { tenant, app, member, transfer, owners } = await world();
  for (let n = 0; n < coOwnersMax - 1; n++) {
    const { userId } = await newUser(database.db, tenant.id);
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${userId}, ${userId}, now())`.execute(database.db);
  }
  expect((await transfer(member.userId)).status).toBe(200);
  expect(await owners()).toHaveLength(coOwnersMax + 2);
});

test('a preview lists each change, is marked irreversible, and changes nothing', async () => {
  const { member, owner, coOwner, transfer, owners } = await world();
  const before = await owners();
  const { plan } = (await transfer(coOwner.userId, undefined, '?dry_run=true')).body;
  expect(plan).toMatchObject({ operation: 'ownership.transfer', irreversible: true });
  expect(plan.changes).toMatchObject([
    { path: 'owner', before: { user_id: owner.userId }, after: { user_id: coOwner.userId } },
    { path: 'co_owner', before: { user_id: coOwner.userId }, after: null },
    { path: 'co_owner', before: null, after: { user_id: owner.userId } },
  ]);
  expect((await transfer(member.userId, undefined, '?dry_run=true')).body.plan.changes).toHaveLength(2);
  expect(await owners()).toEqual(before);
});

test('a former owner whose request waited cannot transfer the app', async () => {
  const { tenant, app, owner, coOwner, member } = await world();
  await sql`update svc.apps set owner_id = ${member.userId} where id = ${app.id}`.execute(database.db);
  const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const late = testMutation(database.db, owner, (ctx) => transferOwnership(ctx, { to: coOwner.userId }), {
    context,
  });
  expect(await codeOf(late)).toBe('not_found');
});

test('of concurrent transfers one succeeds, and the others are refused', async () => {
  const { tenant, owner, transfer, owners } = await world();
  const people = [];
  for (let n = 0; n < 6; n++) people.push(await newUser(database.db, tenant.id));
  const answers = await Promise.all(people.map(({ userId }) => transfer(userId)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403, 403]);
  const won = people[answers.findIndex(({ status }) => status === 200)];
  const after = await owners();
  expect(after[0]).toEqual(['owner', won?.userId]);
  expect(after.at(-1)).toEqual(['co_owner', owner.userId]);
});

test('neither the new nor the previous owner keeps a role when leaving the tenant at the same time', async () => {
  for (let round = 0; round < 4; round++) {
    const { tenant, member, owner, coOwner, transfer, owners } = await world();
    const leaving = round % 2 === 0 ? member : owner;
    const [answer] = await Promise.all([transfer(member.userId), takeOut(tenant, leaving)]);
    expect([200, leaving === member ? 400 : 404]).toContain(answer.status);
    const after = await owners();
    const expected = answer.status === 200 ? member.userId : owner.userId;
    const stays = answer.status === 200 && leaving === member ? [['co_owner', owner.userId]] : [];
    expect(after).toEqual([['owner', expected], ['co_owner', coOwner.userId], ...stays]);
  }
});

test('every server applies the new ownership within a second', async () => {
  const { member, path, login, transfer } = await world();
  const to = await loginHeaders(database, member);
  const copies = [server, other];
  for (const copy of [...copies, ...copies]) {
    expect((await copy.call(to, 'GET', `${path}/co-owners`)).status).toBe(404);
    expect((await copy.call(login, 'GET', `${path}/co-owners`)).status).toBe(200);
  }
  expect((await transfer(member.userId)).status).toBe(200);
  const unheard = copies.map((copy) => async () => {
    const theirs = await copy.call(to, 'POST', `${path}/co-owners?dry_run=true`, { user_id: 'nobody' });
    const mine = await copy.call(login, 'POST', `${path}/co-owners?dry_run=true`, { user_id: 'nobody' });
    return theirs.status !== 400 || mine.status !== 403;
  });
  expect(await msUntilRefused(unheard)).toBeLessThan(patientMs(1_000));
  for (const copy of copies) expect((await copy.call(login, 'GET', `${path}/co-owners`)).status).toBe(200);
});
