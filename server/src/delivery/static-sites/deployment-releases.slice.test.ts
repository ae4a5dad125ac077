import { describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { BuildError } from '../../drivers/runtime/runtime.ts';
import { newUser, testDeps } from '../../testing.ts';
import { releaseFromFolder, siteConfigOf } from './deployment-releases.ts';
import { type Files, newSiteEnv, type SiteEnv, testSiteDeps, useSiteServer } from './testing.ts';

/** Makes the store fail, to interrupt a deployment. */
let failing: ((key: string) => boolean) | null = null;
const { database, server } = useSiteServer({
  wrap: (objects) => ({
    ...objects,
    put: (key, ...rest) => (failing?.(key) ? Promise.reject(new Error('lost')) : objects.put(key, ...rest)),
  }),
});
const folder = useFolder();

function built(files: Files): string {
  const dir = mkdtempSync(join(folder, 'site-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

function release(
  world: SiteEnv,
  dir: string,
  more: { deploymentId?: string; createdBy?: string | null } = {},
) {
  const parts = { ...testSiteDeps, db: database.db, ...testDeps, objects: server.objects };
  const created = { deploymentId: Bun.randomUUIDv7(), createdBy: world.people.owner.userId };
  return releaseFromFolder(parts, { ...world.ref, ...created, ...more, dir, config: {} });
}

const releases = async ({ call }: SiteEnv) => (await call('GET', '/releases')).body.items;
const refusal = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof BuildError ? error.message : Promise.reject(error)),
  );
const page = { 'index.html': '<p>home', 'a/b.css': 'b {}', 'a/c.css': 'b {}', '.well-known/x': 'x' };

describe('the output of a build', () => {
  test('becomes a release with all its files but hidden ones, active for a private app', async () => {
    const world = await newSiteEnv(database, server);
    const dir = built({ ...page, '.env': 'SECRET=1', '.git/x': '' });
    const { releaseId, outcome } = await release(world, dir);
    expect(outcome).toBe('active');
    const files = (await world.call('GET', `/releases/${releaseId}/files`)).body.items;
    expect(files.map(({ path }: { path: string }) => path)).toEqual(Object.keys(page).sort());
    expect((await releases(world))[0]).toMatchObject({
      id: releaseId,
      state: 'finalized',
      roles: ['active'],
    });
  });

  test('is staged if others see the app, until it is reviewed', async () => {
    const world = await newSiteEnv(database, server, { visibility: 'public' });
    const first = await release(world, built(page));
    expect(first.outcome).toBe('finalized');
    await world.call('POST', '/site/staging/enable');
    const second = await release(world, built({ 'index.html': 'new' }));
    expect(second.outcome).toBe('staged');
    expect((await world.move(second.releaseId, 'activate')).body.code).toBe('promotion_required');
    expect((await world.call('GET', '/site')).body.active_release).toBeNull();
  });

  test('becomes one release, however often the deployment restarts', async () => {
    for (const visibility of ['private', 'public'] as const) {
      const world = await newSiteEnv(database, server, { visibility });
      const [dir, deploymentId] = [built(page), Bun.randomUUIDv7()];
      const first = await release(world, dir, { deploymentId });
      expect(await release(world, dir, { deploymentId })).toEqual(first);
      // Builds are not reproducible: the release that was complete before counts.
      expect(await release(world, built({ 'index.html': 'other' }), { deploymentId })).toEqual(first);
      expect((await releases(world)).length).toBe(1);
    }
  });

  test('is resumed after a crash', async () => {
    const world = await newSiteEnv(database, server);
    const [dir, deploymentId] = [built({ 'index.html': 'one', 'b.html': 'two' }), Bun.randomUUIDv7()];
    let puts = 0;
    failing = (key) => key.startsWith(`static/${world.ref.tenantId}/`) && ++puts > 1;
    expect(release(world, dir, { deploymentId })).rejects.toThrow('lost');
    await release(world, dir, { deploymentId }).catch(() => {});
    failing = null;
    const [draft] = await releases(world);
    expect(draft.state).toBe('draft');
    const { releaseId, outcome } = await release(world, dir, { deploymentId });
    expect([releaseId, outcome, (await releases(world)).length]).toEqual([draft.id, 'active', 1]);
  });

  test('with other files after a crash becomes a new release', async () => {
    const world = await newSiteEnv(database, server);
    const deploymentId = Bun.randomUUIDv7();
    failing = (key) => key.startsWith(`static/${world.ref.tenantId}/`);
    await release(world, built({ 'index.html': 'first' }), { deploymentId }).catch(() => {});
    failing = null;
    const { releaseId, outcome } = await release(world, built({ 'index.html': 'second' }), { deploymentId });
    expect(outcome).toBe('active');
    const states = (await releases(world)).map(({ id, state }: { id: string; state: string }) => [
      id === releaseId,
      state,
    ]);
    expect(states).toEqual([
      [true, 'finalized'],
      [false, 'draft'],
    ]);
    expect((await release(world, built({ 'index.html': 'third' }), { deploymentId })).releaseId).toBe(
      releaseId,
    );
  });

  test('without changes reuses the active release', async () => {
    const world = await newSiteEnv(database, server);
    const first = await release(world, built(page));
    expect((await release(world, built(page))).releaseId).toBe(first.releaseId);
  });

  test('belongs to the user who requested it, even if they left; the audit names the platform', async () => {
    const world = await newSiteEnv(database, server);
    const gone = await newUser(database.db, null);
    const { releaseId } = await release(world, built(page), { createdBy: gone.userId });
    expect((await world.call('GET', `/releases/${releaseId}`)).body.created_by).toBe(gone.userId);
    const pushed = await release(world, built({ a: 'pushed' }), { createdBy: null });
    expect((await world.call('GET', `/releases/${pushed.releaseId}`)).body.created_by).toBe(
      world.people.owner.userId,
    );
    const { rows } = await sql<{ kind: string }>`
      select distinct actor_kind as kind from svc.audit_entries
      where tenant_id = ${world.tenant.id} and action in ('releases.create', 'releases.finalize')`.execute(
      database.db,
    );
    expect(rows).toEqual([{ kind: 'operator' }]);
  });

  test('can contain only regular files with valid names', async () => {
    const world = await newSiteEnv(database, server);
    const linked = built(page);
    symlinkSync('/etc/passwd', join(linked, 'passwd'));
    expect(await refusal(release(world, linked))).toContain('"passwd" is not a regular file');
    expect(await refusal(release(world, built({})))).toContain('no file');
    expect(await refusal(release(world, built({ 'a#b': '' })))).toContain('a#b');
    expect(await refusal(release(world, built({ 'A.html': '', 'a.html': '' })))).toContain('is the same as');
    expect(await releases(world)).toEqual([]);
  });

  test('is rejected for an app of another tenant and for an archived app', async () => {
    const [one, other] = [await newSiteEnv(database, server), await newSiteEnv(database, server)];
    const mixed = { ...one, ref: { ...one.ref, tenantId: other.ref.tenantId } };
    expect(release(mixed, built(page))).rejects.toThrow('not_found');
    await sql`update svc.apps set record = 'archived' where id = ${one.ref.appId}`.execute(database.db);
    expect(release(one, built(page))).rejects.toThrow('The app is archived');
  });
});

test('rules for other hosts that are too many, or go round and round, fail the build', async () => {
  const configOf = (_redirects: string) =>
    siteConfigOf({ dir: built({ _redirects }), config: null, hosting: {} }, () => {}).catch(String);
  expect(await configOf('/a /b')).toMatchObject({ redirects: [{ from: '/a', to: '/b' }] });
  const many = Array.from({ length: 1_001 }, (_, at) => `/a${at} /b`).join('\n');
  expect(await configOf(many)).toContain('The rules of the site: redirects:');
  expect(await configOf('/a /b\n/b /a')).toContain('leads back to where it began');
});
