import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newUser } from '../../testing.ts';
import { newReviewEnv, type ReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

/** An app with invited people in a tenant whose policy allows two. */
async function newInvited(people: number) {
  const world = await newReviewEnv(shared.database, shared.server);
  const { db } = shared.database;
  await sql`update svc.tenants set invite_only_people_max = 2 where id = ${world.tenant.id}`.execute(db);
  const invite = async () => {
    const { userId } = await newUser(db, world.tenant.id);
    return world.ofApp('POST', '/members', { user_id: userId });
  };
  for (let at = 0; at < people; at++) expect((await invite()).status).toBe(201);
  return { ...world, invite };
}

const askInviteOnly = ({ ask }: ReviewEnv) => ask({ visibility: 'invite_only', note: 'for the team' });

describe('a request for invite_only', () => {
  test('of few invited people is approved by the policy of the tenant, which is audited', async () => {
    const world = await newInvited(2);
    expect((await askInviteOnly(world)).body).toMatchObject({
      status: 'approved',
      decided_by: null,
      reason: 'Approved by policy: at most 2 invited people.',
    });
    expect(await world.appNow()).toEqual({ visibility: 'invite_only', review_status: 'approved' });
    const changes = await world.audited('publications.request');
    expect(changes).toContainEqual(expect.objectContaining({ path: 'approved_by', after: 'policy' }));
    expect(changes).toContainEqual(expect.objectContaining({ path: 'visibility', after: 'invite_only' }));
  });

  test('of more people, for more visibility or without a policy needs a person', async () => {
    const many = await newInvited(3);
    expect((await askInviteOnly(many)).body.status).toBe('pending');
    const wide = await newInvited(0);
    expect((await wide.ask({ visibility: 'public' })).body.status).toBe('pending');
    const none = await newReviewEnv(shared.database, shared.server);
    expect((await askInviteOnly(none)).body.status).toBe('pending');
    const scoped = await newInvited(0);
    await scoped.ofApp('PATCH', '', { data_scopes: ['warehouse/sales/orders:read'] });
    expect((await askInviteOnly(scoped)).body).toMatchObject({
      status: 'pending',
      data_scopes: ['warehouse/sales/orders:read'],
      data_scopes_before: [],
    });
  });

  test('by policy limits later invitations until a person approves more', async () => {
    const world = await newInvited(2);
    await askInviteOnly(world);
    const refused = await world.invite();
    expect([refused.status, refused.body.code]).toEqual([409, 'limit_reached']);
    expect(refused.body.detail).toContain('svc publish --visibility invite_only');
    const { body } = await askInviteOnly(world);
    expect(body.status).toBe('pending');
    expect((await world.decide(body.id, 'approve')).status).toBe(200);
    expect((await world.invite()).status).toBe(201);
    expect((await askInviteOnly(world)).body.code).toBe('not_wider');
  });
});
