import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newSiteEnv, type SiteEnv, useSiteServer } from './testing.ts';

const shared = useSiteServer();

/** A public app with one staged release, whose promotion the owner has requested. */
async function requested(): Promise<SiteEnv & { id: string; digest: string }> {
  const world = await newSiteEnv(shared.database, shared.server, { visibility: 'public' });
  await world.call('POST', '/site/staging/enable');
  const id = await world.release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
  const { status, body } = await world.move(id, 'promote-request', 'owner', { note: 'please' });
  expect([status, body.status]).toEqual([200, 'pending']);
  return { ...world, id, digest: body.digest };
}
type Shown = Awaited<ReturnType<typeof shown>>;
/** A public app whose second release is active, with a third one staged and its promotion requested. */
async function shown() {
  const world = await requested();
  const { id: reviewed, move, release } = world;
  await move(reviewed, 'promote-approve', 'admin');
  const active = await release({ 'index.html': 'two' }, { on_finalize: 'deploy' });
  await move(active, 'promote-request');
  await move(active, 'promote-approve', 'admin');
  const id = await release({ 'index.html': 'three' }, { on_finalize: 'deploy' });
  expect((await move(id, 'promote-request')).body.status).toBe('pending');
  return { ...world, reviewed, active, id };
}
const audited = async ({ tenant }: SiteEnv, action: string) =>
  (
    await sql<{ changes: string }>`
      select changes from svc.audit_entries where tenant_id = ${tenant.id} and action = ${action}
      order by seq desc limit 1`.execute(shared.database.db)
  ).rows[0]?.changes;
const activeOf = async ({ call }: SiteEnv) => (await call('GET', '/site')).body.active_release?.id ?? null;

describe('a promotion', () => {
  test('activates the reviewed release after approval, which is then a rollback target', async () => {
    const world = await requested();
    const { id, digest, move, release } = world;
    expect((await move(id, 'activate')).body.code).toBe('promotion_required');
    const approved = await move(id, 'promote-approve', 'admin', { note: 'fine' });
    expect([approved.status, approved.body.pointer, approved.body.digest]).toEqual([200, 'active', digest]);
    expect(approved.body).toMatchObject({ reviewed_for: 'public', roles: ['staged', 'active'] });
    expect((await move(id, 'promote-approve', 'admin')).body.changed).toBe(false);
    expect((await move(id, 'promote-approve', 'otherAdmin')).body.code).toBe('not_pending');
    const next = await release({ 'index.html': 'two' }, { on_finalize: 'deploy' });
    await move(next, 'promote-request');
    expect((await move(next, 'promote-approve', 'admin')).status).toBe(200);
    expect((await move(id, 'rollback')).body).toMatchObject({ pointer: 'active', roles: ['active'] });
    expect(await activeOf(world)).toBe(id);
  });

  test('cannot be approved by the requester, except by the only admin, which is audited', async () => {
    const world = await newSiteEnv(shared.database, shared.server, { visibility: 'internet' });
    const { admin, otherAdmin } = world.people;
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${world.app.id}, ${admin.userId}, ${admin.userId}, now())`.execute(shared.database.db);
    await world.call('POST', '/site/staging/enable');
    const id = await world.release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
    await world.move(id, 'promote-request', 'admin');
    const withdrawn = await world.move(id, 'promote-reject', 'admin');
    expect([withdrawn.body.code, withdrawn.body.detail]).toEqual([
      'self_approval',
      'You requested this promotion yourself. To cancel it, stage another release or disable staging.',
    ]);
    expect((await world.move(id, 'promote-approve', 'admin')).body.code).toBe('self_approval');
    expect(await activeOf(world)).toBeNull();
    await sql`update svc.users set status = 'suspended' where id = ${otherAdmin.userId}`.execute(
      shared.database.db,
    );
    expect((await world.move(id, 'promote-approve', 'admin')).body).toMatchObject({
      reviewed_for: 'internet',
    });
    expect(await audited(world, 'releases.approvePromotion')).toMatch(/"self_approved"/);
  });

  test('is approved by admins only, and rejected by anybody but the requester', async () => {
    const { id, move } = await requested();
    for (const who of ['owner', 'coOwner'] as const)
      expect((await move(id, 'promote-approve', who)).body.code).toBe('forbidden');
    expect((await move(id, 'promote-reject', 'owner')).body.code).toBe('self_approval');
    const refused = await move(id, 'promote-reject', 'coOwner', { reason: 'a typing error' });
    expect(refused.body).toMatchObject({ status: 'rejected', reason: 'a typing error' });
    expect((await move(id, 'promote-reject', 'coOwner')).body.changed).toBe(false);
    expect((await move(id, 'promote-reject', 'admin')).body.code).toBe('not_pending');
    expect((await move(id, 'promote-approve', 'admin')).body.code).toBe('not_pending');
    expect((await move(id, 'promote-request')).body.status).toBe('pending');
  });

  test('can be requested once; a repeated request by the same user is idempotent', async () => {
    const { id, move } = await requested();
    expect((await move(id, 'promote-request', 'owner', { note: 'please' })).body.changed).toBe(false);
    expect((await move(id, 'promote-request', 'owner', { note: 'other' })).body.code).toBe(
      'promotion_pending',
    );
    expect((await move(id, 'promote-request', 'coOwner', { note: 'please' })).body.code).toBe(
      'promotion_pending',
    );
  });

  test('is canceled when the release is revoked', async () => {
    const world = await requested();
    await world.move(world.id, 'revoke');
    expect((await world.move(world.id, 'promote-approve', 'admin')).body.code).toBe('release_revoked');
    expect(await activeOf(world)).toBeNull();
  });

  test('becomes stale when another release is staged, even if the first is staged again', async () => {
    const world = await requested();
    const { id, move, release, call } = world;
    const other = await release({ 'index.html': 'two' });
    await move(other, 'stage');
    expect((await call('GET', '/site')).body.promotion.status).toBe('stale');
    expect((await move(id, 'promote-approve', 'admin')).body.code).toBe('staging_changed');
    expect((await move(other, 'promote-approve', 'admin')).body.code).toBe('not_pending');
    await move(id, 'stage');
    expect((await move(id, 'promote-approve', 'admin')).body.code).toBe('staging_changed');
    expect(await activeOf(world)).toBeNull();
  });

  test.each([
    ['another is activated', (world: Shown) => world.move(world.reviewed, 'activate')],
    ['another is rolled back to', (world: Shown) => world.move(world.reviewed, 'rollback')],
    ['the site is unpublished', (world: Shown) => world.call('POST', '/site/unpublish')],
    [
      'what the site showed is shown again',
      async (world: Shown) => {
        await world.call('POST', '/site/unpublish');
        await world.move(world.id, 'promote-request');
        return world.move(world.active, 'activate');
      },
    ],
    [
      'what an unpublished site showed is revoked',
      async (world: Shown) => {
        await world.call('POST', '/site/unpublish');
        await world.move(world.id, 'promote-request');
        return world.move(world.active, 'revoke');
      },
    ],
  ])('becomes stale once %s, and can be requested again', async (_name, happens) => {
    const world = await shown();
    const { id, move, call } = world;
    const before = (await call('GET', '/site')).body.generation;
    expect((await happens(world)).status).toBe(200);
    const { body: site } = await call('GET', '/site');
    expect(site.promotion).toMatchObject({ release_id: id, status: 'stale' });
    expect(site.generation).toBeGreaterThan(before);
    expect(site.staged_release.id).toBe(id);
    const late = await move(id, 'promote-approve', 'admin');
    expect([late.status, late.body.code]).toEqual([409, 'staging_changed']);
    expect((await call('GET', '/site')).body).toMatchObject({
      published: site.published,
      active_release: site.active_release && { id: site.active_release.id },
    });
    expect((await move(id, 'promote-request')).body.status).toBe('pending');
    expect((await move(id, 'promote-approve', 'admin')).body.pointer).toBe('active');
  });

  test('that becomes stale is shown in the plan and the audit', async () => {
    for (const [path, action] of [
      ['/site/unpublish', 'sites.unpublish'],
      ['rollback', 'releases.rollback'],
    ] as const) {
      const world = await shown();
      const at = path === 'rollback' ? `/releases/${world.reviewed}/rollback` : path;
      const { plan } = (await world.call('POST', `${at}?dry_run=true`)).body;
      expect(plan.changes).toContainEqual(
        expect.objectContaining({ path: 'promotion', before: 'pending', after: 'stale' }),
      );
      expect(plan.warnings).toContain('The pending promotion becomes stale: the active release changes.');
      expect((await world.call('GET', '/site')).body.promotion.status).toBe('pending');
      expect((await world.call('POST', at)).status).toBe(200);
      expect(JSON.stringify(await audited(world, action))).toMatch(/stale/);
    }
  });

  test('keeps its configuration when the site is reconfigured', async () => {
    const world = await requested();
    const { id, digest, move, call } = world;
    const evil = { redirects: [{ from: '/*', to: 'https://evil.example/:splat' }] };
    const preview = await call('PUT', '/site?dry_run=true', evil);
    expect(preview.body.plan.warnings).toEqual([
      'The staged release keeps the configuration of its promotion request; new releases take this one.',
    ]);
    const set = await call('PUT', '/site', evil);
    expect([set.status, set.body.notices]).toEqual([200, preview.body.plan.warnings]);
    expect((await move(id, 'promote-request', 'owner', { note: 'please' })).body.changed).toBe(false);
    expect((await move(id, 'promote-request')).body.code).toBe('promotion_pending');
    const approved = await move(id, 'promote-approve', 'admin');
    expect([approved.status, approved.body.digest, approved.body.config]).toEqual([200, digest, {}]);
  });

  test('keeps its configuration after a rejection or new staging', async () => {
    const { id, digest, move, call, release } = await requested();
    await move(id, 'promote-reject', 'coOwner');
    await call('PUT', '/site', { spa: true });
    expect((await move(id, 'promote-request')).body.digest).toBe(digest);
    const other = await release({ 'index.html': 'two' });
    await move(other, 'stage');
    await call('PUT', '/site', { spa: false });
    await move(id, 'stage');
    expect((await move(id, 'promote-request')).body.digest).toBe(digest);
    expect((await call('GET', `/releases/${other}`)).body.config).toEqual({ spa: false });
  });

  test('is approved only with the digest that was reviewed', async () => {
    const { id, digest, move } = await requested();
    const other = await move(id, 'promote-approve', 'admin', { digest: '0'.repeat(64) });
    expect([other.status, other.body.code]).toEqual([409, 'staging_changed']);
    expect((await move(id, 'promote-approve', 'admin', { digest: 'x' })).status).toBe(400);
    expect((await move(id, 'promote-approve', 'admin', { digest })).status).toBe(200);
    expect((await move(id, 'promote-approve', 'admin', { digest })).body.changed).toBe(false);
  });

  test('of a private app counts for no wider visibility, and ends with a new configuration', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    const { call, move, release } = world;
    await call('POST', '/site/staging/enable');
    const id = await release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
    await move(id, 'stage');
    await move(id, 'promote-request');
    await call('PUT', '/site', { spa: true });
    expect((await call('GET', '/site')).body).toMatchObject({
      active_release: { id, config: { spa: true } },
      promotion: { status: 'stale' },
    });
    expect((await move(id, 'promote-approve', 'admin')).body.code).toBe('staging_changed');
    await move(id, 'promote-request');
    expect((await move(id, 'promote-approve', 'admin')).body).toMatchObject({
      pointer: 'active',
      reviewed_for: null,
    });
  });

  test('is not approved if the content or the staged release has changed', async () => {
    const { id, move, app } = await requested();
    await sql`update svc.static_sites set generation = generation + 1 where app_id = ${app.id}`.execute(
      shared.database.db,
    );
    expect((await move(id, 'promote-approve', 'admin')).body.code).toBe('staging_changed');
    await sql`update svc.static_sites set generation = generation - 1 where app_id = ${app.id}`.execute(
      shared.database.db,
    );
    await sql`update svc.static_releases set manifest_sha256 = ${'0'.repeat(64)} where id = ${id}`.execute(
      shared.database.db,
    );
    expect((await move(id, 'promote-approve', 'admin')).body.code).toBe('staging_changed');
  });

  test('is canceled when its app is archived or deleted, with a warning in the plan', async () => {
    for (const [method, path] of [
      ['POST', '/archive'],
      ['DELETE', ''],
    ] as const) {
      const world = await requested();
      const preview = await world.ofApp(method, `${path}?dry_run=true`);
      expect(preview.body.plan.target.kind).toBe('app');
      expect(preview.body.plan.changes).toContainEqual(
        expect.objectContaining({ path: 'promotion', before: 'pending', after: 'canceled' }),
      );
      expect((await world.ofApp(method, path)).status).toBe(200);
      const { rows } =
        await sql`select status from svc.static_promotions where app_id = ${world.app.id}`.execute(
          shared.database.db,
        );
      expect(rows).toEqual([{ status: 'canceled' }]);
    }
  });
});

describe('concurrent requests', () => {
  const tries = Array.from({ length: 8 }, (_, at) => at);

  test('two approvals: one succeeds', async () => {
    for (const _ of tries) {
      const { id, move } = await requested();
      const answers = await Promise.all(
        (['admin', 'otherAdmin'] as const).map((who) => move(id, 'promote-approve', who)),
      );
      expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([200, 'not_pending']);
    }
  });

  test('approve and reject: one succeeds', async () => {
    for (const _ of tries) {
      const world = await requested();
      const { id, move } = world;
      const [yes, no] = await Promise.all([
        move(id, 'promote-approve', 'admin'),
        move(id, 'promote-reject', 'coOwner'),
      ]);
      expect([yes.status, no.status].sort()).toEqual([200, 409]);
      expect(await activeOf(world)).toBe(yes.status === 200 ? id : null);
    }
  });

  test('approve and revoke: a revoked release is never active', async () => {
    for (const _ of tries) {
      const world = await requested();
      const { id, move } = world;
      const [approve, revoke] = await Promise.all([move(id, 'promote-approve', 'admin'), move(id, 'revoke')]);
      const ended = [approve.body.code ?? 'ok', revoke.body.code ?? 'ok'];
      expect([
        ['ok', 'release_active'],
        ['release_revoked', 'ok'],
      ]).toContainEqual(ended);
      expect(await activeOf(world)).toBe(ended[0] === 'ok' ? id : null);
    }
  });

  test('approve and stage: only the reviewed release becomes active', async () => {
    for (const _ of tries) {
      const world = await requested();
      const { id, move, release } = world;
      const other = await release({ 'index.html': 'two' });
      const [approve, stage] = await Promise.all([
        move(id, 'promote-approve', 'admin'),
        move(other, 'stage'),
      ]);
      expect(stage.status).toBe(200);
      expect(['staging_changed', undefined]).toContain(approve.body.code);
      expect(await activeOf(world)).toBe(approve.status === 200 ? id : null);
    }
  });

  test('activate and roll back: the last one wins', async () => {
    for (const _ of tries) {
      const world = await newSiteEnv(shared.database, shared.server);
      const { move, release } = world;
      const [first, second, third] = [
        await release({ 'a.html': '1' }, { on_finalize: 'deploy' }),
        await release({ 'a.html': '2' }, { on_finalize: 'deploy' }),
        await release({ 'a.html': '3' }),
      ];
      const answers = await Promise.all([
        move(first, 'rollback'),
        move(third, 'activate'),
        move(second, 'activate'),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const { rows } = await sql<{ target_id: string }>`
        select target_id from svc.audit_entries where tenant_id = ${world.tenant.id} order by seq desc limit 1`.execute(
        shared.database.db,
      );
      expect(await activeOf(world)).toBe(rows[0]?.target_id);
    }
  });
});
