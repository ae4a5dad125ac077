import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { listSent } from '../../apps/notifications/testing.ts';
import { loginHeaders, operator } from '../../identity/provider/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { newUser, testMutation } from '../../testing.ts';
import type { Who } from '../static-sites/testing.ts';
import { newReviewEnv, type ReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

const day = 24 * 3_600_000;

/** An admin who owns an app as well has requested its publication, and the promotion of the staged release. */
async function askedByAdmin() {
  const world = await newReviewEnv(shared.database, shared.server);
  const { people, app, tenant } = world;
  await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
    values (${app.id}, ${people.admin.userId}, ${people.owner.userId}, now())`.execute(shared.database.db);
  await world.call('POST', '/site/staging/enable');
  const staged = await world.release({ 'index.html': 'two' });
  await world.move(staged, 'stage');
  expect((await world.move(staged, 'promote-request', 'admin')).status).toBe(200);
  const id = await world.asked({ visibility: 'internet' }, 'admin');
  const path = `/api/v1/tenants/${tenant.slug}/members/${people.otherAdmin.userId}`;
  const setOther = async (role: 'tenant_admin' | 'tenant_member' | null, by: Who = 'admin', query = '') => {
    const login = await loginHeaders(shared.database, people[by]);
    return role === null
      ? shared.server.call(login, 'DELETE', `${path}${query}`)
      : shared.server.call(login, 'PUT', `${path}${query}`, { role });
  };
  return { ...world, id, staged, setOther };
}
const leftBefore = ({ tenant }: ReviewEnv, ms: number) =>
  sql`update svc.tenants set admin_left_at = now() - make_interval(secs => ${ms / 1000})
    where id = ${tenant.id}`.execute(shared.database.db);

test('a user who just became the only admin by their own act cannot approve their request yet', async () => {
  for (const role of ['tenant_member', null] as const) {
    const world = await askedByAdmin();
    expect((await world.setOther(role)).status).toBeLessThan(300);
    const publication = await world.decide(world.id, 'approve', 'admin');
    const promotion = await world.move(world.staged, 'promote-approve', 'admin');
    expect([publication.status, publication.body.code]).toEqual([403, 'self_review']);
    expect([promotion.status, promotion.body.code]).toEqual([403, 'self_approval']);
    for (const { body } of [publication, promotion]) {
      const from = /from (\S+Z)/.exec(body.detail)?.[1] ?? '';
      expect(Math.abs(Date.parse(from) - Date.now() - 7 * day)).toBeLessThan(patientMs(60_000));
    }
    expect((await world.appNow()).visibility).toBe('private');
  }
});

test('the only admin can approve their own request after seven days', async () => {
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

/** The requester approves both requests; returns the error codes, undefined for a success. */
async function approvedAlone(world: Awaited<ReturnType<typeof askedByAdmin>>) {
  const promotion = await world.move(world.staged, 'promote-approve', 'admin');
  const next = promotion.status === 200 ? await world.asked({ visibility: 'internet' }, 'admin') : world.id;
  return [promotion.body.code, (await world.decide(next, 'approve', 'admin')).body.code];
}

test('a user who became the only admin by acts of others can approve at once, which is audited', async () => {
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
    await testMutation(shared.database.db, operator, (ctx) =>
      setMember(ctx, { tenantId: tenant.id, userId: people.otherAdmin.userId, role: role ?? 'none' }),
    );
    expect(await approvedAlone(byOperator)).toEqual([undefined, undefined]);
  }
});

test('only removing another admin starts the waiting period, not a member or a preview', async () => {
  const world = await askedByAdmin();
  const { tenant, people } = world;
  const login = await loginHeaders(shared.database, people.admin);
  const member = `/api/v1/tenants/${tenant.slug}/members/${people.member.userId}`;
  expect((await shared.server.call(login, 'DELETE', member)).status).toBeLessThan(300);
  expect((await world.setOther('tenant_admin')).status).toBe(200);
  expect((await world.setOther('tenant_member', 'admin', '?dry_run=true')).body.dry_run).toBe(true);
  expect((await world.setOther(null, 'otherAdmin')).status).toBeLessThan(300);
  expect(await approvedAlone(world)).toEqual([undefined, undefined]);
});

test('removing an admin starts the waiting period even if the last other admin leaves voluntarily', async () => {
  const world = await askedByAdmin();
  const { tenant } = world;
  const third = await newUser(shared.database.db, tenant.id, 'tenant_admin');
  expect((await world.setOther('tenant_member')).status).toBe(200);
  const path = `/api/v1/tenants/${tenant.slug}/members/${third.userId}`;
  expect(
    (await shared.server.call(await loginHeaders(shared.database, third), 'DELETE', path)).status,
  ).toBeLessThan(300);
  expect(await approvedAlone(world)).toEqual(['self_approval', 'self_review']);
});

test('a restored admin ends the waiting period', async () => {
  const world = await askedByAdmin();
  await world.setOther('tenant_member');
  await world.setOther('tenant_admin');
  await leftBefore(world, 30 * day);
  expect((await world.decide(world.id, 'approve', 'admin')).body).toMatchObject({ code: 'self_review' });
  expect((await world.decide(world.id, 'approve', 'otherAdmin')).status).toBe(200);
});

test('a former admin is notified of the removal and by whom, even as a former member', async () => {
  for (const role of ['tenant_member', null] as const) {
    const world = await askedByAdmin();
    await world.setOther(role);
    const sent = await listSent(shared.database.db, world.tenant, 'role_changed');
    expect(sent.map(({ user_id }) => user_id)).toEqual([world.people.otherAdmin.userId]);
    expect(sent[0]?.text).toContain(world.people.admin.email);
    await world.setOther('tenant_member');
    expect((await listSent(shared.database.db, world.tenant, 'role_changed')).length).toBe(1);
  }
});
