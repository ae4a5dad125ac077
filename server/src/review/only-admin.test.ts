import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { loginOf, operator } from '../identity/testing.ts';
import { toldIn } from '../notifications/testing.ts';
import type { SitesCopy, Who } from '../static-sites/testing.ts';
import { setMember } from '../tenants/set-member.ts';
import { newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { copyWithReview, type ReviewWorld, reviewWorld } from './testing.ts';

let database: TestDatabase;
let server: SitesCopy;
beforeAll(async () => {
  database = await testDatabase();
  server = await copyWithReview(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

const day = 24 * 3_600_000;

/** An admin who owns an app as well has asked for its publication, and for the promotion of what is staged. */
async function askedByAdmin() {
  const world = await reviewWorld(database, server);
  const { people, app, tenant } = world;
  await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
    values (${app.id}, ${people.admin.userId}, ${people.owner.userId}, now())`.execute(database.db);
  await world.call('POST', '/site/staging/enable');
  const staged = await world.release({ 'index.html': 'two' });
  await world.move(staged, 'stage');
  expect((await world.move(staged, 'promote-request', 'admin')).status).toBe(200);
  const id = await world.asked({ visibility: 'internet' }, 'admin');
  const path = `/api/v1/tenants/${tenant.slug}/members/${people.otherAdmin.userId}`;
  const setOther = async (role: 'tenant_admin' | 'tenant_member' | null, by: Who = 'admin', query = '') => {
    const login = await loginOf(database, people[by]);
    return role === null
      ? server.call(login, 'DELETE', `${path}${query}`)
      : server.call(login, 'PUT', `${path}${query}`, { role });
  };
  return { ...world, id, staged, setOther };
}
const leftBefore = ({ tenant }: ReviewWorld, ms: number) =>
  sql`update svc.tenants set admin_left_at = now() - make_interval(secs => ${ms / 1000})
    where id = ${tenant.id}`.execute(database.db);

test('who has just made themself the only admin approves nothing that they asked for, and is told from when on they may', async () => {
  for (const role of ['tenant_member', null] as const) {
    const world = await askedByAdmin();
    expect((await world.setOther(role)).status).toBeLessThan(300);
    const publication = await world.decide(world.id, 'approve', 'admin');
    const promotion = await world.move(world.staged, 'promote-approve', 'admin');
    expect([publication.status, publication.body.code]).toEqual([403, 'self_review']);
    expect([promotion.status, promotion.body.code]).toEqual([403, 'self_approval']);
    for (const { body } of [publication, promotion]) {
      const from = /from (\S+Z) on/.exec(body.detail)?.[1] ?? '';
      expect(Math.abs(Date.parse(from) - Date.now() - 7 * day)).toBeLessThan(60_000);
    }
    expect((await world.appNow()).visibility).toBe('private');
  }
});

test('who has been the only admin for seven days may, and not a minute before', async () => {
  const world = await askedByAdmin();
  await world.setOther('tenant_member');
  await leftBefore(world, 7 * day - 60_000);
  expect((await world.decide(world.id, 'approve', 'admin')).body.code).toBe('self_review');
  expect((await world.move(world.staged, 'promote-approve', 'admin')).body.code).toBe('self_approval');
  await leftBefore(world, 7 * day);
  expect((await world.move(world.staged, 'promote-approve', 'admin')).status).toBe(200);
  const next = await world.asked({ visibility: 'internet' }, 'admin');
  expect((await world.decide(next, 'approve', 'admin')).status).toBe(200);
});

/** Both that were asked for, approved by who asked, with the answers' codes; undefined where it went through. */
async function approvedAlone(world: Awaited<ReturnType<typeof askedByAdmin>>) {
  const promotion = await world.move(world.staged, 'promote-approve', 'admin');
  const next = promotion.status === 200 ? await world.asked({ visibility: 'internet' }, 'admin') : world.id;
  return [promotion.body.code, (await world.decide(next, 'approve', 'admin')).body.code];
}

test('who has become the only admin by what others did may at once, and it is on record', async () => {
  for (const role of ['tenant_member', null] as const) {
    const left = await askedByAdmin();
    expect((await left.setOther(role, 'otherAdmin')).status).toBeLessThan(300);
    expect(await approvedAlone(left)).toEqual([undefined, undefined]);
    for (const action of ['releases.approvePromotion', 'publications.approve']) {
      const changes = await left.audited(action);
      expect(changes).toContainEqual(expect.objectContaining({ path: 'self_approved', after: true }));
    }
    const byOperator = await askedByAdmin();
    const { tenant, people } = byOperator;
    await testMutation(database.db, operator, (ctx) =>
      setMember(ctx, { tenantId: tenant.id, userId: people.otherAdmin.userId, role: role ?? 'none' }),
    );
    expect(await approvedAlone(byOperator)).toEqual([undefined, undefined]);
  }
});

test('only sending another admin away makes one wait: not a member, not one who stays, not a preview', async () => {
  const world = await askedByAdmin();
  const { tenant, people } = world;
  const login = await loginOf(database, people.admin);
  const member = `/api/v1/tenants/${tenant.slug}/members/${people.member.userId}`;
  expect((await server.call(login, 'DELETE', member)).status).toBeLessThan(300);
  expect((await world.setOther('tenant_admin')).status).toBe(200);
  expect((await world.setOther('tenant_member', 'admin', '?dry_run=true')).body.dry_run).toBe(true);
  expect((await world.setOther(null, 'otherAdmin')).status).toBeLessThan(300);
  expect(await approvedAlone(world)).toEqual([undefined, undefined]);
});

test('who sent an admin away waits also where the last of the others then left by themself', async () => {
  const world = await askedByAdmin();
  const { tenant } = world;
  const third = await newUser(database.db, tenant.id, 'tenant_admin');
  expect((await world.setOther('tenant_member')).status).toBe(200);
  const path = `/api/v1/tenants/${tenant.slug}/members/${third.userId}`;
  expect((await server.call(await loginOf(database, third), 'DELETE', path)).status).toBeLessThan(300);
  expect(await approvedAlone(world)).toEqual(['self_approval', 'self_review']);
});

test('an admin who is brought back ends it: then there are two again', async () => {
  const world = await askedByAdmin();
  await world.setOther('tenant_member');
  await world.setOther('tenant_admin');
  await leftBefore(world, 30 * day);
  expect((await world.decide(world.id, 'approve', 'admin')).body).toMatchObject({ code: 'self_review' });
  expect((await world.decide(world.id, 'approve', 'otherAdmin')).status).toBe(200);
});

test('an admin is told that they are none any more, and by whom, also where they are no member any more', async () => {
  for (const role of ['tenant_member', null] as const) {
    const world = await askedByAdmin();
    await world.setOther(role);
    const told = await toldIn(database.db, world.tenant, 'role_changed');
    expect(told.map(({ user_id }) => user_id)).toEqual([world.people.otherAdmin.userId]);
    expect(told[0]?.text).toContain(world.people.admin.email);
    await world.setOther('tenant_member');
    expect((await toldIn(database.db, world.tenant, 'role_changed')).length).toBe(1);
  }
});
