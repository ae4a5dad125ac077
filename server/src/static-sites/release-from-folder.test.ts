import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { BuildFailure } from '../drivers/runtime/runtime.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { newUser, silentLog, type TestDatabase, testDatabase } from '../testing.ts';
import { releaseFromFolder } from './release-from-folder.ts';
import {
  copyWithSites,
  type Files,
  type SitesCopy,
  type SiteWorld,
  siteWorld,
  testPlaces,
} from './testing.ts';

let database: TestDatabase;
let server: SitesCopy;
/** Lets the store fail, for what comes in the middle. */
let failing: ((key: string) => boolean) | null = null;
const folder = mkdtempSync(join(tmpdir(), 'svc-built-'));

beforeAll(async () => {
  database = await testDatabase();
  server = await copyWithSites(
    database,
    (objects): ObjectStore => ({
      ...objects,
      put: (key, ...rest) => (failing?.(key) ? Promise.reject(new Error('lost')) : objects.put(key, ...rest)),
    }),
  );
});
afterAll(async () => {
  await server.stop();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

function built(files: Files): string {
  const dir = mkdtempSync(join(folder, 'site-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

function release(
  world: SiteWorld,
  dir: string,
  more: { deploymentId?: string; createdBy?: string | null } = {},
) {
  const parts = { ...testPlaces, db: database.db, outbox: rowsOnly, log: silentLog, objects: server.objects };
  const created = { deploymentId: Bun.randomUUIDv7(), createdBy: world.people.owner.userId };
  return releaseFromFolder(parts, { ...world.place, ...created, ...more, dir, config: {} });
}

const releases = async ({ call }: SiteWorld) => (await call('GET', '/releases')).body.items;
const refusal = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof BuildFailure ? error.message : Promise.reject(error)),
  );
const page = { 'index.html': '<p>home', 'a/b.css': 'b {}', 'a/c.css': 'b {}', '.well-known/x': 'x' };

describe('what a build has made', () => {
  test('becomes a release with all its files, and is shown while the app is private', async () => {
    const world = await siteWorld(database, server);
    const { releaseId, outcome, leftOut } = await release(
      world,
      built({ ...page, '.env': 'SECRET=1', '.git/x': '' }),
    );
    expect([outcome, leftOut]).toEqual(['active', ['.env', '.git']]);
    const files = (await world.call('GET', `/releases/${releaseId}/files`)).body.items;
    expect(files.map(({ path }: { path: string }) => path)).toEqual(Object.keys(page).sort());
    expect((await releases(world))[0]).toMatchObject({
      id: releaseId,
      state: 'finalized',
      roles: ['active'],
    });
  });

  test('is shown to others only after a review, and staged where that is possible', async () => {
    const world = await siteWorld(database, server, { visibility: 'public' });
    const first = await release(world, built(page));
    expect(first.outcome).toBe('finalized');
    await world.call('POST', '/site/staging/enable');
    const second = await release(world, built({ 'index.html': 'new' }));
    expect(second.outcome).toBe('staged');
    expect((await world.move(second.releaseId, 'activate')).body.code).toBe('promotion_required');
    expect((await world.call('GET', '/site')).body.active_release).toBeNull();
  });

  test('is one release, however often the deployment begins again', async () => {
    for (const visibility of ['private', 'public'] as const) {
      const world = await siteWorld(database, server, { visibility });
      const [dir, deploymentId] = [built(page), Bun.randomUUIDv7()];
      const first = await release(world, dir, { deploymentId });
      expect(await release(world, dir, { deploymentId })).toEqual(first);
      // A build need not make the same bytes twice: what was whole before counts.
      expect(await release(world, built({ 'index.html': 'other' }), { deploymentId })).toEqual(first);
      expect((await releases(world)).length).toBe(1);
    }
  });

  test('goes on where a crash has left it', async () => {
    const world = await siteWorld(database, server);
    const [dir, deploymentId] = [built({ 'index.html': 'one', 'b.html': 'two' }), Bun.randomUUIDv7()];
    let puts = 0;
    failing = (key) => key.startsWith(`static/${world.place.tenantId}/`) && ++puts > 1;
    expect(release(world, dir, { deploymentId })).rejects.toThrow('lost');
    await release(world, dir, { deploymentId }).catch(() => {});
    failing = null;
    const [draft] = await releases(world);
    expect(draft.state).toBe('draft');
    const { releaseId, outcome } = await release(world, dir, { deploymentId });
    expect([releaseId, outcome, (await releases(world)).length]).toEqual([draft.id, 'active', 1]);
  });

  test('of other files after a crash is a release of those', async () => {
    const world = await siteWorld(database, server);
    const deploymentId = Bun.randomUUIDv7();
    failing = (key) => key.startsWith(`static/${world.place.tenantId}/`);
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

  test('without a change is what is there already', async () => {
    const world = await siteWorld(database, server);
    const first = await release(world, built(page));
    expect((await release(world, built(page))).releaseId).toBe(first.releaseId);
  });

  test('is theirs who asked for it, also when they have left, and the audit names the platform', async () => {
    const world = await siteWorld(database, server);
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

  test('holds files alone, with names that can be served', async () => {
    const world = await siteWorld(database, server);
    const linked = built(page);
    symlinkSync('/etc/passwd', join(linked, 'passwd'));
    expect(await refusal(release(world, linked))).toContain('"passwd" is a link');
    expect(await refusal(release(world, built({})))).toContain('no file');
    expect(await refusal(release(world, built({ 'a#b': '' })))).toContain('a#b');
    expect(await refusal(release(world, built({ 'A.html': '', 'a.html': '' })))).toContain('told from');
    expect(await releases(world)).toEqual([]);
  });

  test('is not taken for an app of another tenant, nor for one that is archived', async () => {
    const [one, other] = [await siteWorld(database, server), await siteWorld(database, server)];
    const mixed = { ...one, place: { ...one.place, tenantId: other.place.tenantId } };
    expect(release(mixed, built(page))).rejects.toThrow('not_found');
    await sql`update svc.apps set record = 'archived' where id = ${one.place.appId}`.execute(database.db);
    expect(release(one, built(page))).rejects.toThrow('The app is archived');
  });
});
