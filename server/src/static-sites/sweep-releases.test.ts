import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { draftHoursMax, releasesKeptMax } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import { purgeHeldApp } from '../apps/purge-held-app.ts';
import { findAppRow } from '../apps/store.ts';
import { type Outbox, rowsOnly } from '../plumbing/outbox-rows.ts';
import { silentLog, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { blobPrefix, keysOfBlob } from './blob-key.ts';
import { listBlobs } from './blob-store.ts';
import { removeBlobs } from './discard-blobs.ts';
import { removeFilesOfSite } from './purge-static-site.ts';
import { sweepBlobObjects } from './sweep-blob-objects.ts';
import { sweepReleases, sweepSite } from './sweep-releases.ts';
import { copyWithSites, type SitesCopy, type SiteWorld, siteWorld } from './testing.ts';

let database: TestDatabase;
let server: SitesCopy;
beforeAll(async () => {
  database = await testDatabase();
  server = await copyWithSites(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

const sweep = () => sweepReleases({ db: database.db, outbox: rowsOnly, log: silentLog }, { now: new Date() });
/** What was queued for the app is done, as the outbox would. */
async function carryOut({ app }: SiteWorld): Promise<void> {
  const effects = {
    'static.removeBlobs': removeBlobs(server),
    'static.discardApp': removeFilesOfSite(server),
  };
  const { rows } = await sql<{ topic: keyof typeof effects; payload: Record<string, unknown> }>`
    select topic, payload from svc.outbox where topic like 'static.%' and payload::text like ${`%${app.id}%`}`.execute(
    database.db,
  );
  for (const { topic, payload } of rows) await effects[topic](payload);
}
async function keysOf({ place }: SiteWorld): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of server.objects.list(blobPrefix(place))) keys.push(key);
  return keys;
}
const wanted = async ({ place }: SiteWorld) =>
  (await listBlobs(database.db, place)).flatMap((blob) => keysOfBlob(place, blob)).sort();
const statesOf = async ({ call }: SiteWorld) =>
  (await call('GET', '/releases?per_page=200')).body.items.map(
    ({ number, state }: { number: number; state: string }) => `${number} ${state}`,
  ) as string[];
const makeOld = (id: string) =>
  sql`update svc.static_releases set created_at = created_at - make_interval(hours => ${draftHoursMax + 1})
    where id = ${id}`.execute(database.db);
const filesOf = async (id: string) =>
  (await sql`select path from svc.static_files where release_id = ${id}`.execute(database.db)).rows.length;

describe('the sweep', () => {
  test('gives up drafts of long ago with what only they have, and leaves the others', async () => {
    const world = await siteWorld(database, server);
    const shared = 'in both';
    await world.release({ 'a.txt': shared });
    const old = await world.create({ 'a.txt': shared, 'b.txt': 'only in the draft' });
    await world.send(old, { 'a.txt': shared, 'b.txt': 'only in the draft' });
    const young = await world.create({ 'c.txt': 'in a young one' });
    await world.send(young, { 'c.txt': 'in a young one' });
    await makeOld(old.body.id);
    await sweep();
    expect(await statesOf(world)).toEqual(['3 draft', '2 abandoned', '1 finalized']);
    expect(await filesOf(old.body.id)).toBe(0);
    expect(await listBlobs(database.db, world.place)).toHaveLength(2);
    await carryOut(world);
    expect((await keysOf(world)).sort()).toEqual(await wanted(world));
    expect((await world.move(young.body.id, 'finalize')).status).toBe(200);
  });

  test('keeps the newest releases beside those with a part to play; the files of the others go', async () => {
    const world = await siteWorld(database, server);
    await world.call('POST', '/site/staging/enable');
    const ids: string[] = [];
    for (let at = 0; at < releasesKeptMax + 4; at += 1)
      ids.push(await world.release({ 'n.txt': `content ${at}` }));
    await world.move(ids[0] ?? '', 'stage');
    // Becoming active expires what is too much already, and says so before.
    const preview = await world.move(ids[1] ?? '', 'activate?dry_run=true');
    expect(preview.body.plan.warnings).toContain('No longer kept: #4, #3.');
    expect((await world.move(ids[1] ?? '', 'activate')).status).toBe(200);
    expect((await statesOf(world)).slice(-4)).toEqual([
      '4 expired',
      '3 expired',
      '2 finalized',
      '1 finalized',
    ]);
    await sweep();
    await carryOut(world);
    expect([await filesOf(ids[2] ?? ''), await filesOf(ids[0] ?? '')]).toEqual([0, 1]);
    expect(await keysOf(world)).toHaveLength(releasesKeptMax + 2);
    expect((await world.move(ids[2] ?? '', 'activate')).body.code).toBe('release_not_finalized');
  });

  test('takes never what a new release counts on, whenever that begins', async () => {
    const files = { 'a.txt': 'once and again', 'b.txt': 'another' };
    for (let turn = 0; turn < 8; turn += 1) {
      const world = await siteWorld(database, server);
      const first = await world.release(files);
      await world.move(first, 'revoke');
      const [draft] = await Promise.all([world.create(files), sweep()]);
      await world.send(draft, files);
      const [done] = await Promise.all([world.move(draft.body.id, 'finalize'), sweep()]);
      expect(done.status).toBe(200);
      // What is deleted late is never what has arrived since.
      await carryOut(world);
      expect(await keysOf(world)).toEqual(await wanted(world));
      expect(await listBlobs(database.db, world.place)).toHaveLength(2);
    }
  });

  test('and who finalizes an old draft at the same moment: one of them does, and what is finalized is whole', async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      const world = await siteWorld(database, server);
      const files = { 'a.txt': 'a', 'b.txt': 'b' };
      const draft = await world.create(files);
      await world.send(draft, files);
      await makeOld(draft.body.id);
      const [done] = await Promise.all([world.move(draft.body.id, 'finalize'), sweep()]);
      await sweep();
      const isDone = done.status === 200;
      expect([isDone, isDone ? undefined : done.body.code]).toEqual([
        isDone,
        isDone ? undefined : 'release_not_draft',
      ]);
      expect(await listBlobs(database.db, world.place)).toHaveLength(isDone ? 2 : 0);
      expect(await filesOf(draft.body.id)).toBe(isDone ? 2 : 0);
    }
  });

  test('leaves the list of a release that ends behind its back, until its files are swept too', async () => {
    const world = await siteWorld(database, server);
    const [first, second] = [
      await world.release({ 'a.txt': 'one' }),
      await world.release({ 'b.txt': 'two' }),
    ];
    await world.move(first, 'revoke');
    const meanwhile: Outbox = {
      ...rowsOnly,
      add: async (...args) => {
        await rowsOnly.add(...args);
        // Behind the step that takes away bytes, before the one that takes away lists.
        if (args[2].some(({ topic }) => topic === 'static.removeBlobs'))
          await sql`update svc.static_releases set state = 'revoked' where id = ${second}`.execute(
            database.db,
          );
      },
    };
    await sweepSite({ db: database.db, outbox: meanwhile, log: silentLog }, world.place, {
      before: new Date(0),
    });
    expect([await filesOf(first), await filesOf(second), (await wanted(world)).length]).toEqual([0, 1, 1]);
    await sweep();
    await carryOut(world);
    expect([await filesOf(second), await wanted(world), await keysOf(world)]).toEqual([0, [], []]);
  });

  test('finds bytes that no release has, also where no list leads to them', async () => {
    const world = await siteWorld(database, server);
    const id = await world.release({ 'a.txt': 'one' });
    await world.move(id, 'revoke');
    await sql`delete from svc.static_files where release_id = ${id}`.execute(database.db);
    await sweep();
    await carryOut(world);
    expect([await wanted(world), await keysOf(world)]).toEqual([[], []]);
  });

  test('that is interrupted leaves nothing half done, and the next one goes on', async () => {
    const world = await siteWorld(database, server);
    const id = await world.release({ 'a.txt': 'left over' });
    await world.move(id, 'revoke');
    const failing: Outbox = {
      ...rowsOnly,
      add: async (_, __, effects) => {
        if (effects.some(({ topic }) => topic === 'static.removeBlobs')) throw new Error('The server ends.');
      },
    };
    await sweepReleases({ db: database.db, outbox: failing, log: silentLog }, { now: new Date() });
    expect([await keysOf(world), await filesOf(id)]).toEqual([await wanted(world), 1]);
    await sweep();
    await carryOut(world);
    expect([await keysOf(world), await wanted(world), await filesOf(id)]).toEqual([[], [], 0]);
  });
});

test('bytes without a row are removed once they are a day old, of apps that are gone too', async () => {
  const world = await siteWorld(database, server);
  await world.release({ 'a.txt': 'kept' });
  const kept = await keysOf(world);
  const orphans = [
    `${blobPrefix(world.place)}${Bun.randomUUIDv7()}`,
    `${kept[0]}.gz`,
    `static/${world.tenant.id}/${Bun.randomUUIDv7()}/${Bun.randomUUIDv7()}.br`,
  ];
  async function* once() {
    yield new Uint8Array([1]);
  }
  for (const key of orphans) await server.objects.put(key, once(), { bytesMax: 10 });
  const parts = { db: database.db, objects: server.objects };
  await sweepBlobObjects({ ...parts, now: new Date() });
  expect(await server.objects.stat(orphans[2] ?? '')).not.toBeNull();
  await sweepBlobObjects({ ...parts, now: new Date(Date.now() + 25 * 3_600_000) });
  for (const key of orphans) expect(await server.objects.stat(key)).toBeNull();
  expect(await keysOf(world)).toEqual(kept);
});

test('a purged app takes its site with it: what there was is told, and nothing stays in the store', async () => {
  const world = await siteWorld(database, server);
  await world.release({ 'a.txt': 'aa', 'b.txt': 'bbb', 'same.txt': 'aa' }, { on_finalize: 'deploy' });
  await world.create({ 'c.txt': 'never sent' });
  expect((await world.ofApp('DELETE', '')).status).toBe(200);
  const row = await findAppRow(database.db, world.tenant.id, world.app.id, 'any');
  if (!row) throw new Error('The app is gone.');
  const { value } = await testMutation(database.db, world.people.owner, (ctx) => purgeHeldApp(ctx, row), {
    auditTenantId: world.tenant.id,
    rows: database.rows,
  });
  expect(value.removed).toMatchObject({ releases: 2, release_files: 2, release_bytes: 5 });
  await carryOut(world);
  expect(await keysOf(world)).toEqual([]);
  const { rows } = await sql`select 1 from svc.static_releases where app_id = ${world.app.id}`.execute(
    database.db,
  );
  expect(rows).toEqual([]);
});
