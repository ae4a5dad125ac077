import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newReviewEnv, type ReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

/** An app with another release staged. */
async function staged(): Promise<ReviewEnv & { next: string }> {
  const world = await newReviewEnv(shared.database, shared.server);
  await world.call('POST', '/site/staging/enable');
  const next = await world.release({ 'index.html': 'two' });
  await world.move(next, 'stage');
  return { ...world, next };
}

/** Makes a running deployment serve the app's host. */
async function runs({ app, tenant }: ReviewEnv): Promise<string> {
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, digest,
      created_at, live_at, ended_at)
    values (${id}, ${tenant.id}, ${app.id}, 1, 'deploy', 'person', 'live', 'docker', 'upload', 'sha256:of-an-image',
      now(), now(), now())`.execute(shared.database.db);
  return id;
}

const promotionsOf = async ({ app }: ReviewEnv) => {
  const { rows } = await sql<{ status: string; decided_by: string | null; reason: string }>`
    select status, decided_by, reason from svc.static_promotions where app_id = ${app.id} order by requested_at`.execute(
    shared.database.db,
  );
  return rows;
};

describe('with a running deployment', () => {
  test('a staged release cannot be requested, because visitors would see the deployment', async () => {
    const world = await staged();
    const deployment = await runs(world);
    const beside = await world.ask({ visibility: 'internet', deployment_id: world.next });
    expect([beside.status, beside.body.code]).toEqual([409, 'stale_deployment']);
    const { body } = await world.ask({ visibility: 'internet', deployment_id: deployment });
    expect([body.pinned, body.deployment_id, body.release_id]).toEqual(['live', deployment, null]);
  });

  test('an earlier request for the staged release is superseded', async () => {
    const world = await staged();
    const id = await world.asked({ visibility: 'internet', deployment_id: world.next });
    await runs(world);
    expect((await world.decide(id, 'approve')).body.code).toBe('stale_deployment');
    expect(await world.statusOf(id)).toBe('superseded');
    expect((await world.appNow()).visibility).toBe('private');
  });
});

describe('a promotion of the release that is published', () => {
  test('is approved with it by the same user, which is audited', async () => {
    const world = await staged();
    await world.move(world.next, 'promote-request');
    const id = await world.asked({ visibility: 'public', deployment_id: world.next });
    expect((await world.decide(id, 'approve', 'admin', { note: 'fine' })).status).toBe(200);
    expect(await promotionsOf(world)).toEqual([
      { status: 'approved', decided_by: world.people.admin.userId, reason: 'fine' },
    ]);
    expect(await world.audited('publications.approve')).toContainEqual(
      expect.objectContaining({ path: 'promotion', before: 'pending', after: 'approved' }),
    );
    expect((await world.move(world.next, 'promote-approve', 'otherAdmin')).body.code).toBe('not_pending');
  });

  test('is canceled if the reviewer requested it', async () => {
    const world = await staged();
    const { people, app } = world;
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${people.admin.userId}, ${people.owner.userId}, now())`.execute(shared.database.db);
    await world.move(world.next, 'promote-request', 'admin');
    const id = await world.asked({ visibility: 'public', deployment_id: world.next });
    expect((await world.decide(id, 'approve', 'admin')).status).toBe(200);
    expect((await promotionsOf(world)).map(({ status }) => status)).toEqual(['canceled']);
  });

  test('of another release stays pending', async () => {
    const world = await staged();
    await world.move(world.next, 'promote-request');
    await world.decide(await world.asked(), 'approve');
    expect((await promotionsOf(world)).map(({ status }) => status)).toEqual(['pending']);
  });
});

test('a new request after the expiry shows in its plan that the old one ended', async () => {
  const world = await newReviewEnv(shared.database, shared.server);
  const id = await world.asked();
  await sql`update svc.publication_requests set expires_at = now() where id = ${id}`.execute(
    shared.database.db,
  );
  const { body } = await world.ofApp('POST', '/publication-requests?dry_run=true', { visibility: 'public' });
  expect(body.plan.target.kind).toBe('publication_request');
  expect(body.plan.target.id).not.toBe(id);
  expect(body.plan.changes).toContainEqual(
    expect.objectContaining({
      path: expect.stringMatching(/^publication_request \S+\.status$/),
      before: 'pending',
      after: 'expired',
    }),
  );
});
