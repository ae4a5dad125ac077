import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { loginOf } from '../identity/testing.ts';
import { toldIn } from '../notifications/testing.ts';
import type { SitesCopy } from '../static-sites/testing.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
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
  const login = await loginOf(database, people.admin);
  const setOther = (role: 'tenant_admin' | 'tenant_member' | null) =>
    role === null ? server.call(login, 'DELETE', path) : server.call(login, 'PUT', path, { role });
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
