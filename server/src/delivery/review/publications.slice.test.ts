import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { loginHeaders } from '../../identity/provider/testing.ts';
import { testDeps } from '../../testing.ts';
import { expirePublicationRequests } from './requests.ts';
import { newReviewEnv, type ReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

const newWorld = () => newReviewEnv(shared.database, shared.server);
const run = (text: ReturnType<typeof sql>) => text.execute(shared.database.db);
const notificationsOf = async ({ tenant }: ReviewEnv) => {
  const { rows } = await sql<{ user_id: string; kind: string; path: string }>`
    select user_id, kind, path from svc.notifications where tenant_id = ${tenant.id} order by id`.execute(
    shared.database.db,
  );
  return rows;
};
const siteOf = async ({ call }: ReviewEnv) => (await call('GET', '/site')).body;

describe('a request to publish', () => {
  test('refers to the live content and is pending', async () => {
    const world = await newWorld();
    const { active_release } = await siteOf(world);
    const { status, body } = await world.ask({ visibility: 'public', note: 'please' });
    expect([status, body.status, body.visibility, body.visibility_before]).toEqual([
      201,
      'pending',
      'public',
      'private',
    ]);
    expect(body).toMatchObject({
      pinned: 'live',
      release_id: active_release.id,
      digest: active_release.digest,
      note: 'please',
      deployment_id: null,
      app_slug: world.app.slug,
      decided_by: null,
      decided_at: null,
      requested_by_email: world.people.owner.email,
    });
    expect(await world.appNow()).toEqual({ visibility: 'private', review_status: 'pending' });
    const sent = (await notificationsOf(world)).filter(({ kind }) => kind !== 'co_owner_added');
    expect(sent.map(({ user_id }) => user_id).sort()).toEqual(
      [world.people.admin.userId, world.people.otherAdmin.userId, world.people.coOwner.userId].sort(),
    );
    expect(sent[0]).toMatchObject({
      kind: 'publication_requested',
      path: `/t/${world.tenant.slug}/reviews/${body.id}`,
    });
  });

  test('is idempotent, and there can be only one', async () => {
    const { ask } = await newWorld();
    const { body } = await ask({ visibility: 'public' });
    const again = await ask({ visibility: 'public' });
    expect([again.status, again.body.id, again.body.changed]).toEqual([200, body.id, false]);
    for (const [other, who] of [
      [{ visibility: 'internet' }, 'owner'],
      [{ visibility: 'public', note: 'now' }, 'owner'],
      [{ visibility: 'public' }, 'coOwner'],
    ] as const)
      expect((await ask(other, who)).body.code).toBe('request_open');
  });

  test('is rejected without content, without a wider visibility, and for inactive apps', async () => {
    const world = await newWorld();
    const { ask, app, call } = world;
    expect((await ask({ visibility: 'private' })).status).toBe(400);
    expect((await ask({})).status).toBe(400);
    await run(sql`update svc.apps set visibility = 'public' where id = ${app.id}`);
    for (const visibility of ['invite_only', 'public'])
      expect((await ask({ visibility })).body.code).toBe('not_wider');
    await run(sql`update svc.apps set runtime = 'suspended' where id = ${app.id}`);
    expect((await ask({ visibility: 'internet' })).body.code).toBe('app_suspended');
    await run(sql`update svc.apps set runtime = 'running' where id = ${app.id}`);
    await call('POST', '/site/unpublish');
    expect((await ask({ visibility: 'internet' })).body.code).toBe('nothing_deployed');
    await world.ofApp('POST', '/archive');
    expect((await ask({ visibility: 'internet' })).body.code).toBe('app_not_active');
  });

  test('can name only the live or staged content', async () => {
    const world = await newWorld();
    const { active_release: live } = await siteOf(world);
    const other = await world.release({ 'index.html': 'two' });
    for (const deployment_id of [other, Bun.randomUUIDv7()])
      expect((await world.ask({ visibility: 'public', deployment_id })).body.code).toBe('stale_deployment');
    const id = await world.asked({ visibility: 'public', deployment_id: live.id });
    await world.decide(id, 'withdraw', 'owner');
    await world.call('POST', '/site/staging/enable');
    await world.move(other, 'stage');
    const { body } = await world.ask({ visibility: 'public', deployment_id: other });
    expect([body.pinned, body.release_id]).toEqual(['staged', other]);
  });
});

describe('an approval', () => {
  test('widens the visibility, for which the release then counts as reviewed', async () => {
    const world = await newWorld();
    const id = await world.asked();
    const { status, body } = await world.decide(id, 'approve', 'admin', { note: 'fine' });
    expect([status, body.status, body.reason]).toEqual([200, 'approved', 'fine']);
    expect(body.decided_by_email).toBe(world.people.admin.email);
    expect(await world.appNow()).toEqual({ visibility: 'public', review_status: 'approved' });
    expect((await siteOf(world)).active_release.reviewed_for).toBe('public');
    expect(await world.audited('publications.approve')).toContainEqual({
      path: 'visibility',
      before: 'private',
      after: 'public',
      effect: 'update',
    });
    const sent = (await notificationsOf(world)).filter(({ kind }) => kind === 'publication_approved');
    expect(sent.map(({ user_id }) => user_id).sort()).toEqual(
      [world.people.owner.userId, world.people.coOwner.userId].sort(),
    );
    expect((await world.decide(id, 'approve', 'admin')).body.changed).toBe(false);
    expect((await world.decide(id, 'approve', 'otherAdmin')).body.code).toBe('settled');
    expect((await world.decide(id, 'reject', 'otherAdmin')).body.code).toBe('settled');
    expect((await world.decide(id, 'withdraw', 'owner')).body.code).toBe('settled');
  });

  test('has a preview that changes nothing', async () => {
    const world = await newWorld();
    const id = await world.asked();
    const base = `/api/v1/tenants/${world.tenant.id}/publication-requests/${id}`;
    const login = await loginHeaders(shared.database, world.people.admin);
    const { body } = await shared.server.call(login, 'POST', `${base}/approve?dry_run=true`);
    expect(body.plan.target).toEqual({ kind: 'publication_request', id, name: world.app.slug });
    expect(body.plan.changes).toContainEqual(
      expect.objectContaining({ path: 'visibility', before: 'private', after: 'public' }),
    );
    expect(await world.appNow()).toEqual({ visibility: 'private', review_status: 'pending' });
  });

  test('is not by the requester, except by the only admin, which is audited', async () => {
    const world = await newWorld();
    const { people, app } = world;
    await run(sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app.id}, ${people.admin.userId}, ${people.owner.userId}, now())`);
    const id = await world.asked({ visibility: 'public' }, 'admin');
    for (const move of ['approve', 'reject'] as const)
      expect((await world.decide(id, move, 'admin')).body.code).toBe('self_review');
    await run(sql`update svc.users set status = 'suspended' where id = ${people.otherAdmin.userId}`);
    const { status, body } = await world.decide(id, 'approve', 'admin');
    expect([status, body.status]).toEqual([200, 'approved']);
    expect(await world.audited('publications.approve')).toContainEqual(
      expect.objectContaining({ path: 'self_approved', after: true }),
    );
  });

  test('of the staged release activates it in the same transaction', async () => {
    const world = await newWorld();
    const before = (await siteOf(world)).active_release.id;
    await world.call('POST', '/site/staging/enable');
    const next = await world.release({ 'index.html': 'two' });
    await world.move(next, 'stage');
    const id = await world.asked({ visibility: 'internet', deployment_id: next });
    expect((await world.decide(id, 'approve')).status).toBe(200);
    const { active_release } = await siteOf(world);
    expect([active_release.id, active_release.reviewed_for]).toEqual([next, 'internet']);
    expect((await world.appNow()).visibility).toBe('internet');
    expect((await world.move(before, 'rollback')).body.code).toBe('promotion_required');
  });

  test('is rejected for a suspended app', async () => {
    const world = await newWorld();
    const id = await world.asked();
    await run(sql`update svc.apps set runtime = 'suspended' where id = ${world.app.id}`);
    expect((await world.decide(id, 'approve')).body.code).toBe('app_suspended');
    expect(await world.statusOf(id)).toBe('pending');
  });

  test('of content that is no longer deployed is rejected and ends the request', async () => {
    const world = await newWorld();
    const id = await world.asked();
    await run(
      sql`update svc.static_releases set manifest_sha256 = ${'0'.repeat(64)} where app_id = ${world.app.id}`,
    );
    const refused = await world.decide(id, 'approve');
    expect([refused.status, refused.body.code]).toEqual([409, 'stale_deployment']);
    expect(await world.statusOf(id)).toBe('superseded');
    expect(await world.appNow()).toEqual({ visibility: 'private', review_status: 'none' });
    expect(await world.audited('publications.supersede')).toBeDefined();
  });
});

describe('a rejection', () => {
  test('is by an admin or another owner, has a reason, and does not change the app', async () => {
    for (const who of ['admin', 'coOwner'] as const) {
      const world = await newWorld();
      const id = await world.asked();
      expect((await world.decide(id, 'reject', who, { reason: '' })).status).toBe(400);
      expect((await world.decide(id, 'reject', 'owner')).body.code).toBe('self_review');
      const { status, body } = await world.decide(id, 'reject', who, { reason: 'the prices' });
      expect([status, body.status, body.reason]).toEqual([200, 'rejected', 'the prices']);
      expect(await world.appNow()).toEqual({ visibility: 'private', review_status: 'rejected' });
      expect((await world.decide(id, 'reject', who)).body.changed).toBe(false);
      expect((await world.decide(id, 'approve', 'otherAdmin')).body.code).toBe('settled');
      const again = await world.asked();
      expect([again === id, (await world.appNow()).review_status]).toEqual([false, 'pending']);
    }
  });
});

describe('the end of a request', () => {
  const ends: [string, (world: ReviewEnv) => Promise<unknown>, string][] = [
    [
      'its owner withdraws it',
      async (world) => world.decide(await open(world), 'withdraw', 'coOwner'),
      'withdrawn',
    ],
    ['the app is archived', (world) => world.ofApp('POST', '/archive'), 'withdrawn'],
    ['the app is deleted', (world) => world.ofApp('DELETE', ''), 'withdrawn'],
    [
      'a newer release is shown',
      (world) => world.release({ a: 'b' }, { on_finalize: 'deploy' }),
      'superseded',
    ],
    ['the site is unpublished', (world) => world.call('POST', '/site/unpublish'), 'superseded'],
    ['it is served otherwise', (world) => world.call('PUT', '/site', { spa: true }), 'superseded'],
  ];
  const open = async (world: ReviewEnv) =>
    (await world.requests('?status=pending')).body.items[0].id as string;

  for (const [what, end, status] of ends)
    test(`${what}: ${status}`, async () => {
      const world = await newWorld();
      const id = await world.asked();
      await end(world);
      expect(await world.statusOf(id)).toBe(status);
      const code = status === 'superseded' ? 'stale_deployment' : 'settled';
      expect((await world.decide(id, 'approve')).body.code).toBe(code);
      expect((await world.decide(id, 'reject')).body.code).toBe('settled');
      expect(await world.appNow()).toEqual({ visibility: 'private', review_status: 'none' });
    });

  test('the app is made less visible: withdrawn, as planned; earlier approvals still count', async () => {
    const world = await newWorld();
    await world.decide(await world.asked(), 'approve');
    const id = await world.asked({ visibility: 'internet' });
    const preview = await world.ofApp('PATCH', '?dry_run=true', { visibility: 'invite_only' });
    expect(preview.body.plan.changes).toContainEqual(
      expect.objectContaining({ path: 'publication_request', before: 'pending', after: 'withdrawn' }),
    );
    const updated = await world.ofApp('PATCH', '', { visibility: 'invite_only' });
    expect(updated.body.review_status).toBe('approved');
    expect(await world.statusOf(id)).toBe('withdrawn');
    await world.ofApp('PATCH', '', { visibility: 'private' });
    expect(await world.appNow()).toEqual({ visibility: 'private', review_status: 'none' });
  });

  test('another release or none is staged: superseded, if the request is for the staged one', async () => {
    for (const end of ['stage', 'disable', 'revoke', 'activate'] as const) {
      const world = await newWorld();
      await world.call('POST', '/site/staging/enable');
      const [staged, other] = [await world.release({ a: '2' }), await world.release({ a: '3' })];
      await world.move(staged, 'stage');
      const id = await world.asked({ visibility: 'public', deployment_id: staged });
      if (end === 'stage') await world.move(other, 'stage');
      if (end === 'disable') await world.call('POST', '/site/staging/disable');
      if (end === 'revoke') await world.move(staged, 'revoke');
      if (end === 'activate') await world.move(other, 'activate');
      expect([end, await world.statusOf(id)]).toEqual([end, 'superseded']);
    }
  });

  test('the staged release becomes active before the approval: still pending', async () => {
    const world = await newWorld();
    await world.call('POST', '/site/staging/enable');
    const staged = await world.release({ a: '2' });
    await world.move(staged, 'stage');
    const id = await world.asked({ visibility: 'public', deployment_id: staged });
    await world.move(staged, 'activate');
    expect((await world.decide(id, 'approve')).status).toBe(200);
  });

  test('nobody decides: expired at once for readers, and in the app with the next job', async () => {
    const world = await newWorld();
    const id = await world.asked();
    await run(sql`update svc.publication_requests set expires_at = now() where id = ${id}`);
    expect(await world.statusOf(id)).toBe('expired');
    expect((await world.requests('?status=pending')).body.total).toBe(0);
    expect((await world.requests('?status=expired')).body.total).toBe(1);
    expect((await world.requests('?status=settled')).body.total).toBe(1);
    await expirePublicationRequests({ ...testDeps, db: shared.database.db });
    expect((await world.appNow()).review_status).toBe('none');
    expect((await notificationsOf(world)).some(({ kind }) => kind === 'publication_expired')).toBe(true);
    expect((await world.decide(id, 'approve')).body.code).toBe('settled');
    await world.asked();
  });

  test('it is requested again after the expiry: the old one has ended, the new one is pending', async () => {
    const world = await newWorld();
    const id = await world.asked();
    await run(sql`update svc.publication_requests set expires_at = now() where id = ${id}`);
    const next = await world.asked();
    expect([await world.statusOf(id), await world.statusOf(next)]).toEqual(['expired', 'pending']);
    expect((await world.appNow()).review_status).toBe('pending');
  });
});

describe('visibility of requests', () => {
  test('owners and admins see requests; others do not, even if they requested them', async () => {
    const world = await newWorld();
    const id = await world.asked({ visibility: 'public' }, 'coOwner');
    await world.decide(id, 'approve');
    const next = await world.asked({ visibility: 'internet' }, 'coOwner');
    for (const who of ['owner', 'coOwner', 'admin'] as const)
      expect((await world.requests(`/${next}`, who)).status).toBe(200);
    expect((await world.requests(`/${next}`, 'member')).status).toBe(404);
    for (const move of ['approve', 'reject', 'withdraw'] as const)
      expect((await world.decide(next, move, 'member')).status).toBe(404);
    expect((await world.decide(next, 'approve', 'owner')).body.code).toBe('forbidden');
    expect((await world.decide(next, 'withdraw', 'admin')).body.code).toBe('forbidden');
    expect((await world.requests('', 'owner')).body.code).toBe('forbidden');
    await run(
      sql`delete from svc.app_co_owners where app_id = ${world.app.id} and user_id = ${world.people.coOwner.userId}`,
    );
    expect((await world.requests(`/${next}`, 'coOwner')).status).toBe(404);
    for (const move of ['approve', 'reject', 'withdraw'] as const)
      expect((await world.decide(next, move, 'coOwner')).status).toBe(404);
    await world.decide(next, 'reject', 'admin', { reason: 'for owners only' });
    const rejected = (await notificationsOf(world)).filter(({ kind }) => kind === 'publication_rejected');
    expect(rejected.map(({ user_id }) => user_id)).toEqual([world.people.owner.userId]);
  });

  test('a list can be filtered by app, status and visibility, the newest first', async () => {
    const world = await newWorld();
    const first = await world.asked();
    await world.decide(first, 'reject');
    const second = await world.asked({ visibility: 'internet' });
    const ids = async (query: string) =>
      (await world.requests(query)).body.items.map((item: { id: string }) => item.id);
    expect(await ids('')).toEqual([second, first]);
    expect(await ids('?status=settled')).toEqual([first]);
    expect(await ids(`?app=${world.app.slug}&visibility=internet`)).toEqual([second]);
    expect(await ids('?per_page=1&page=2')).toEqual([first]);
    expect((await world.requests('?app=nowhere')).status).toBe(404);
    const ofApp = await world.ofApp('GET', '/publication-requests?status=rejected');
    expect([ofApp.body.total, ofApp.body.items[0].id]).toEqual([1, first]);
    expect((await world.ofApp('GET', '/publication-requests', undefined, 'member')).status).toBe(404);
  });
});

describe('concurrent requests', () => {
  const tries = Array.from({ length: 8 }, (_, at) => at);

  test('two approvals: one succeeds', async () => {
    for (const _ of tries) {
      const world = await newWorld();
      const id = await world.asked();
      const answers = await Promise.all(
        (['admin', 'otherAdmin'] as const).map((who) => world.decide(id, 'approve', who)),
      );
      expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([200, 'settled']);
    }
  });

  test('an approval and a narrowing: the app is never wider than the narrowing set it', async () => {
    for (const _ of tries) {
      const world = await newWorld();
      await world.decide(await world.asked({ visibility: 'invite_only' }), 'approve');
      const id = await world.asked({ visibility: 'internet' });
      const [approve, narrow] = await Promise.all([
        world.decide(id, 'approve'),
        world.ofApp('PATCH', '', { visibility: 'private' }),
      ]);
      expect([narrow.status, ['settled', undefined].includes(approve.body.code)]).toEqual([200, true]);
      expect((await world.appNow()).visibility).toBe('private');
    }
  });

  test('two requests: one is pending', async () => {
    for (const _ of tries) {
      const world = await newWorld();
      const answers = await Promise.all(
        (['owner', 'coOwner'] as const).map((who) => world.ask({ visibility: 'public' }, who)),
      );
      expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([201, 'request_open']);
    }
  });
});
