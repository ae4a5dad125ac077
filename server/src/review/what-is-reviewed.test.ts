import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
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

/** An app with another release staged. */
async function staged(): Promise<ReviewWorld & { next: string }> {
  const world = await reviewWorld(database, server);
  await world.call('POST', '/site/staging/enable');
  const next = await world.release({ 'index.html': 'two' });
  await world.move(next, 'stage');
  return { ...world, next };
}

/** A deployment that runs answers at the app's host from now on. */
async function runs({ app, tenant }: ReviewWorld): Promise<string> {
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, digest,
      created_at, live_at, ended_at)
    values (${id}, ${tenant.id}, ${app.id}, 1, 'deploy', 'person', 'live', 'docker', 'upload', 'sha256:of-an-image',
      now(), now(), now())`.execute(database.db);
  return id;
}

const promotionsOf = async ({ app }: ReviewWorld) => {
  const { rows } = await sql<{ status: string; decided_by: string | null; reason: string }>`
    select status, decided_by, reason from svc.static_promotions where app_id = ${app.id} order by requested_at`.execute(
    database.db,
  );
  return rows;
};

describe('where a deployment runs', () => {
  test('what is staged beside it can not be asked for: visitors would see the deployment', async () => {
    const world = await staged();
    const deployment = await runs(world);
    const beside = await world.ask({ visibility: 'internet', deployment_id: world.next });
    expect([beside.status, beside.body.code]).toEqual([409, 'stale_deployment']);
    const { body } = await world.ask({ visibility: 'internet', deployment_id: deployment });
    expect([body.pinned, body.deployment_id, body.release_id]).toEqual(['live', deployment, null]);
  });

  test('a request for what was staged before it ran comes to nothing', async () => {
    const world = await staged();
    const id = await world.asked({ visibility: 'internet', deployment_id: world.next });
    await runs(world);
    expect((await world.decide(id, 'approve')).body.code).toBe('stale_deployment');
    expect(await world.statusOf(id)).toBe('superseded');
    expect((await world.appNow()).visibility).toBe('private');
  });
});

describe('a promotion of the release that is published', () => {
  test('is approved with it, by the same person, and the audit says so', async () => {
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

  test('is taken back where the reviewer asked for it: nobody approves their own', async () => {
    const world = await staged();
    const { people, app } = world;
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${people.admin.userId}, ${people.owner.userId}, now())`.execute(database.db);
    await world.move(world.next, 'promote-request', 'admin');
    const id = await world.asked({ visibility: 'public', deployment_id: world.next });
    expect((await world.decide(id, 'approve', 'admin')).status).toBe(200);
    expect((await promotionsOf(world)).map(({ status }) => status)).toEqual(['canceled']);
  });

  test('of another release goes on waiting', async () => {
    const world = await staged();
    await world.move(world.next, 'promote-request');
    await world.decide(await world.asked(), 'approve');
    expect((await promotionsOf(world)).map(({ status }) => status)).toEqual(['pending']);
  });
});

test('asking again after its time: the plan is of the new request, and says that the old one is over', async () => {
  const world = await reviewWorld(database, server);
  const id = await world.asked();
  await sql`update svc.publication_requests set expires_at = now() where id = ${id}`.execute(database.db);
  const { body } = await world.ofApp('POST', '/publication-requests?dry_run=true', { visibility: 'public' });
  expect(body.plan.target.kind).toBe('publication_request');
  expect(body.plan.target.id).not.toBe(id);
  expect(body.plan.changes).toContainEqual(
    expect.objectContaining({ path: 'publication_request.status', before: 'pending', after: 'expired' }),
  );
});
