import { describe, expect, test } from 'bun:test';
import { releaseFilesMax } from '@svc/contract/site-paths.ts';
import { draftHoursMax, draftsMax } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { sha256 } from '../../core/values.ts';
import { listed, newSiteEnv, type SiteEnv, useSiteServer } from './testing.ts';

const shared = useSiteServer();

const world = (visibility?: 'public') =>
  newSiteEnv(shared.database, shared.server, visibility ? { visibility } : {});
const home = { 'index.html': '<h1>Home</h1>', 'about.html': '<h1>About</h1>' };
const countOf = async ({ tenant }: SiteEnv) =>
  (
    await sql<{ count: number }>`
      select (select count(*) from svc.static_sites where tenant_id = ${tenant.id})
        + (select count(*) from svc.static_releases where tenant_id = ${tenant.id})
        + (select count(*) from svc.static_promotions where tenant_id = ${tenant.id})
        + (select count(*) from svc.audit_entries where tenant_id = ${tenant.id}) as count`.execute(
      shared.database.db,
    )
  ).rows[0]?.count;

describe('a release', () => {
  test('is created, uploaded, finalized and then active', async () => {
    const { create, send, call, move, app } = await world();
    const draft = await create(home, { version: 'v1', on_finalize: 'deploy' });
    const sums = Object.values(home).map((text) => sha256(text));
    expect([draft.status, draft.body.state, draft.body.number, draft.body.missing.sort()]).toEqual([
      201,
      'draft',
      1,
      sums.sort(),
    ]);
    const early = await move(draft.body.id, 'finalize');
    expect([early.status, early.body.code]).toEqual([409, 'release_incomplete']);
    expect(early.body.errors.map(({ field }: { field: string }) => field)).toEqual(sums);
    expect(await send(draft, home)).toEqual([201, 201]);
    const done = await move(draft.body.id, 'finalize');
    expect([done.status, done.body.state, done.body.pointer, done.body.roles]).toEqual([
      200,
      'finalized',
      'active',
      ['active'],
    ]);
    expect(done.body.url).toBe(`http://${app.slug}.apps.example.test/`);
    expect((await move(draft.body.id, 'finalize')).body).toMatchObject({ changed: false, pointer: 'active' });
    const site = await call('GET', '/site');
    expect([site.body.published, site.body.active_release.id]).toEqual([true, draft.body.id]);
    const { rows } = await sql`
      select runtime, is_deployed, operating_status from svc.apps where id = ${app.id}`.execute(
      shared.database.db,
    );
    expect(rows).toEqual([{ runtime: 'running', is_deployed: true, operating_status: 'dev' }]);
  });

  test('that is created again is the same draft, with the missing files', async () => {
    const { create, send, call } = await world();
    const more = { version: 'v1', on_finalize: 'deploy', config: { spa: true } };
    const first = await create(home, more);
    await send({ ...first, body: { ...first.body, missing: first.body.missing.slice(0, 1) } }, home);
    const reversed = { files: listed(home).reverse(), ...more };
    const again = await call('POST', '/releases', reversed, 'coOwner');
    expect([again.status, again.body.changed, again.body.id]).toEqual([200, false, first.body.id]);
    expect(again.body.missing).toEqual(first.body.missing.slice(1));
    for (const other of [
      { ...more, version: 'v2' },
      { ...more, on_finalize: 'nothing' },
      { ...more, config: {} },
    ]) {
      const made = await create(home, other);
      expect([made.status, made.body.id === first.body.id]).toEqual([201, false]);
    }
    expect((await call('GET', '/releases')).body.items.map((it: { number: number }) => it.number)).toEqual([
      4, 3, 2, 1,
    ]);
  });

  test('that was created half a day ago is not resumed, because it could be abandoned meanwhile', async () => {
    const { create } = await world();
    const first = await create(home);
    const makeOlder = (minutes: number) =>
      sql`update svc.static_releases set created_at = created_at - make_interval(mins => ${minutes}::int)
        where id = ${first.body.id}`.execute(shared.database.db);
    await makeOlder((draftHoursMax - 1) * 60 - 5);
    expect((await create(home)).body.id).toBe(first.body.id);
    await makeOlder(10);
    expect([(await create(home)).status, (await create(home)).body.number]).toEqual([201, 2]);
  });

  test('that is deployed without changes is the active one, so that older ones are retained', async () => {
    const site = await world();
    const { create, release, move, call } = site;
    const more = { version: 'v1', on_finalize: 'deploy', config: { spa: true } };
    const id = await release(home, more);
    const again = await create(home, more);
    expect([again.status, again.body.changed, again.body.id, again.body.missing]).toEqual([
      200,
      false,
      id,
      [],
    ]);
    expect((await move(id, 'finalize')).body).toMatchObject({ changed: false, pointer: 'active' });
    const others = async () => {
      for (const other of [{ version: 'v2' }, { config: {} }, { on_finalize: 'nothing' }]) {
        const made = await create(home, { ...more, ...other });
        expect([other, made.status]).toEqual([other, 201]);
        await move(made.body.id, 'revoke');
      }
    };
    await others();
    await call('POST', '/site/unpublish');
    const second = await create(home, more);
    expect(second.status).toBe(201);
    await move(second.body.id, 'revoke');
    await move(id, 'activate');
    // Not the active release of a private app, which gets each configuration, but one with its own.
    await sql`update svc.static_sites set config = '{"clean_urls": false}' where app_id = ${site.app.id}`.execute(
      shared.database.db,
    );
    expect((await create(home, more)).status).toBe(201);
  });

  test('that is staged without changes keeps its promotion', async () => {
    const { create, release, move, call } = await world('public');
    await call('POST', '/site/staging/enable');
    const id = await release(home, { on_finalize: 'deploy' });
    await move(id, 'promote-request');
    expect((await create(home, { on_finalize: 'deploy' })).body).toMatchObject({ changed: false, id });
    expect((await move(id, 'finalize')).body).toMatchObject({ changed: false, pointer: 'staged' });
    expect((await call('GET', '/site')).body.promotion.status).toBe('pending');
    // Its configuration is final: a new one needs a new release.
    await call('PUT', '/site', { spa: true });
    expect((await create(home, { on_finalize: 'deploy' })).status).toBe(201);
  });

  test('that is finalized late does not replace a newer one, but can be activated', async () => {
    for (const visibility of [undefined, 'public'] as const) {
      const { create, send, move, call } = await world(visibility);
      await call('POST', '/site/staging/enable');
      const pages = [{ 'index.html': 'one' }, { 'index.html': 'two' }, { 'index.html': 'three' }] as const;
      const ids: string[] = [];
      for (const files of pages) {
        const draft = await create(files, { on_finalize: 'deploy' });
        await send(draft, files);
        ids.push(draft.body.id);
      }
      const [first = '', second = '', third = ''] = ids;
      const pointer = visibility ? 'staged' : 'active';
      expect((await move(second, 'finalize')).body).toMatchObject({ pointer });
      const late = await move(first, 'finalize');
      expect(late.body).toMatchObject({ state: 'finalized', pointer: null, newer_release_id: second });
      expect((await call('GET', '/site')).body[`${pointer}_release`].id).toBe(second);
      const last = await move(third, 'finalize');
      expect([last.body.pointer, last.body.newer_release_id]).toEqual([pointer, undefined]);
      expect((await move(first, visibility ? 'stage' : 'activate')).body.pointer).toBe(pointer);
    }
  });

  test('with one changed file needs only that file', async () => {
    const { create, release } = await world();
    await release(home);
    const next = await create({ ...home, 'about.html': 'new', 'copy.html': 'new' });
    expect([next.body.missing, next.body.missing_bytes]).toEqual([[sha256('new')], 3]);
  });

  test('lists its files by path, in pages', async () => {
    const { release, call } = await world();
    const id = await release({ 'b.txt': '1', 'a/c.txt': '2', 'B.html': '3', 'é.txt': '4' });
    const page = (await call('GET', `/releases/${id}/files?per_page=2&page=2`)).body;
    expect([page.total, page.items.map((it: { path: string }) => it.path)]).toEqual([4, ['b.txt', 'é.txt']]);
    expect((await call('GET', `/releases/${Bun.randomUUIDv7()}/files`)).status).toBe(404);
  });

  test('of another app is not found', async () => {
    const [one, other] = [await world(), await world()];
    const id = await one.release(home);
    for (const move of [
      'finalize',
      'stage',
      'activate',
      'rollback',
      'revoke',
      'upload-grant',
      'promote-request',
    ])
      expect([move, (await other.move(id, move)).status]).toEqual([move, 404]);
    expect((await other.call('GET', `/releases/${id}`)).status).toBe(404);
    await other.release(home);
    expect((await other.move(id, 'promote-approve', 'admin')).status).toBe(404);
  });
});

describe('a list of files', () => {
  const file = (path: string, more: object = {}) => ({ path, sha256: sha256('x'), size: 1, ...more });

  test('with an invalid path is rejected, naming the path', async () => {
    const { call } = await world();
    const bad = [
      '../up.html',
      '/root.html',
      'a//b',
      'a\\b',
      'nul.txt',
      'e\u0301.html',
      'a\u0000b',
      'C:/x',
      'end.',
    ];
    const { status, body } = await call('POST', '/releases', {
      files: [file('good.html'), ...bad.map((path) => file(path))],
    });
    expect([status, body.code]).toEqual([422, 'invalid_path']);
    expect(body.errors.map(({ field }: { field: string }) => field)).toEqual(
      bad.map((_, at) => `files[${at + 1}].path`),
    );
    const many = Array.from({ length: 300 }, (_, at) => file(`../${at}`));
    expect((await call('POST', '/releases', { files: many })).body.errors).toHaveLength(100);
  });

  test('with colliding paths is rejected', async () => {
    const { call } = await world();
    for (const [first, second] of [
      ['a.html', 'A.html'],
      ['straße', 'STRASSE'],
      ['a', 'a/b'],
      ['a.html', 'a.html'],
    ] as const) {
      const files = [file('x'), file(first), file(second)];
      const { status, body } = await call('POST', '/releases', { files });
      expect([first, second, status, body.code]).toEqual([first, second, 422, 'path_collision']);
      expect(body.errors[0].field).toMatch(/^files\[[12]\]\.path$/);
    }
  });

  test('is rejected if it is too large or contradictory', async () => {
    const { call } = await world();
    const large = Array.from({ length: 42 }, (_, at) =>
      file(`${at}`, { sha256: sha256(String(at)), size: 25 * 1024 * 1024 }),
    );
    const codes = await Promise.all(
      [
        large,
        [file('a', { size: 25 * 1024 * 1024 + 1 })],
        Array.from({ length: releaseFilesMax + 1 }, (_, at) => file(`${at}`)),
        [file('a'), file('b', { size: 2 })],
        [file('a', { sha256: 'x' })],
        [],
      ].map(async (files) => {
        const { status, body } = await call('POST', '/releases', { files });
        return `${status} ${body.code}`;
      }),
    );
    expect(codes).toEqual([
      ...Array.from({ length: 3 }, () => '413 payload_too_large'),
      ...Array.from({ length: 3 }, () => '400 validation_failed'),
    ]);
  });

  test('can have a limited number of drafts', async () => {
    const site = await world();
    await site.create(home);
    await sql`insert into svc.static_releases (id, app_id, tenant_id, number, state, manifest_sha256, files, bytes,
        on_finalize, created_by, created_at)
      select gen_random_uuid(), app_id, tenant_id, 100 + n, 'draft', ${'0'.repeat(64)}, 0, 0, 'nothing', created_by, now()
      from svc.static_releases, generate_series(1, ${draftsMax - 1}::int) n where app_id = ${site.app.id}`.execute(
      shared.database.db,
    );
    const { status, body } = await site.create({ 'other.html': 'x' });
    expect([status, body.code]).toEqual([409, 'limit_reached']);
    expect((await site.create(home)).status).toBe(200);
  });

  test('of 10,000 files is accepted within seconds', async () => {
    const { call } = await world();
    const files = Array.from({ length: 10_000 }, (_, at) => ({
      path: `assets/part-${at % 100}/file-${at}.js`,
      sha256: sha256(String(at)),
      size: 10 + (at % 1000),
    }));
    for (const expected of [201, 200]) {
      const begun = performance.now();
      const { status, body } = await call('POST', '/releases', { files });
      expect([status, body.missing.length]).toEqual([expected, 10_000]);
      expect(performance.now() - begun).toBeLessThan(patientMs(5_000));
    }
  });
});

describe('a preview', () => {
  test('of a deployment shows the result and changes nothing', async () => {
    const site = await world();
    const preview = (more: object = {}) =>
      site.call('POST', '/releases?dry_run=true', { files: listed(home), on_finalize: 'deploy', ...more });
    const before = await countOf(site);
    const { status, body } = await preview();
    expect([status, body.plan.target.name]).toEqual([200, '#1']);
    const changes = Object.fromEntries(
      body.plan.changes.map(({ path, after }: { path: string; after: unknown }) => [path, after]),
    );
    expect(changes).toMatchObject({ files: 2, files_to_send: 2, becomes: 'active' });
    expect(body.plan.warnings).toEqual([
      'The app is set up for docker deployments: once it is deployed that way, that deployment responds instead of the site.',
    ]);
    expect((await preview()).body.plan.fingerprint).toBe(body.plan.fingerprint);
    expect(await countOf(site)).toBe(before);
  });

  test('warns if a running deployment responds instead of the site', async () => {
    const site = await world();
    await sql`insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at)
      values (${Bun.randomUUIDv7()}, ${site.tenant.id}, ${site.app.id}, 1, 'deploy', 'person', 'live', 'docker',
        'artifact', now())`.execute(shared.database.db);
    const { body } = await site.call('POST', '/releases?dry_run=true', {
      files: listed(home),
      on_finalize: 'deploy',
    });
    expect(body.plan.warnings).toEqual([
      'The app is deployed by docker, which responds instead of the site: visitors do not see this release.',
    ]);
    const draft = await site.create(home, { on_finalize: 'deploy' });
    await site.send(draft, home);
    const made = await site.move(draft.body.id, 'finalize');
    expect(made.body).toMatchObject({ pointer: 'active', url: null });
  });

  test('warns that a review is required', async () => {
    const site = await world('public');
    const becomes = async () => {
      const { body } = await site.call('POST', '/releases?dry_run=true', {
        files: listed(home),
        on_finalize: 'deploy',
      });
      const { after } = body.plan.changes.find(({ path }: { path: string }) => path === 'becomes');
      return [after, body.plan.warnings[0]];
    };
    expect(await becomes()).toEqual([
      'finalized',
      'The app is public: the release must be staged and promoted before visitors see it, and staging is not enabled.',
    ]);
    await site.call('POST', '/site/staging/enable');
    expect(await becomes()).toEqual([
      'staged',
      'The app is public: the release is staged, and becomes active when its promotion is approved.',
    ]);
    const id = await site.release(home, { on_finalize: 'deploy' });
    expect((await site.call('GET', `/releases/${id}`)).body.roles).toEqual(['staged']);
  });

  test('of any move changes nothing; the plan executes only if nothing changed since', async () => {
    const site = await world();
    const { move, call } = site;
    await call('POST', '/site/staging/enable');
    const [id, other] = [await site.release(home), await site.release({ 'a.html': 'a' })];
    await move(other, 'stage');
    await move(other, 'promote-request');
    const before = [await countOf(site), (await call('GET', '/site')).body];
    for (const [release, kind, who] of [
      [id, 'activate'],
      [id, 'stage'],
      [other, 'revoke'],
      [other, 'promote-approve', 'admin'],
      [other, 'promote-reject', 'coOwner'],
    ] as const) {
      const { status, body } = await move(release, `${kind}?dry_run=true`, who);
      expect([kind, status, body.plan.changes.length > 0]).toEqual([kind, 200, true]);
      expect(body.plan.irreversible).toBe(kind === 'revoke');
    }
    expect((await call('POST', '/site/staging/disable?dry_run=true')).body.plan.changes).toContainEqual({
      path: 'promotion',
      before: 'pending',
      after: 'stale',
      effect: 'update',
    });
    expect([await countOf(site), (await call('GET', '/site')).body]).toEqual(before);
  });
});
