import { describe, expect, test } from 'bun:test';
import { draftHoursMax, retainedReleasesMax } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import { purgeLockedApp } from '../../apps/record/lifecycle.ts';
import { findAppRow } from '../../apps/record/store.ts';
import { type Outbox, rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { silentLog, testDeps, testEvents, testMutation } from '../../testing.ts';
import { appBlobsPrefix, blobKeys } from './blobs.ts';
import {
  cleanUpReleases,
  cleanUpSite,
  removeBlobs,
  removeOrphanObjects,
  removeSiteObjects,
} from './cleanup.ts';
import { listBlobs } from './file-store.ts';
import { newSiteEnv, type SiteEnv, useSiteServer } from './testing.ts';

const shared = useSiteServer();

const sweep = () => cleanUpReleases({ db: shared.database.db, ...testDeps }, { now: new Date() });
/** Runs the effects that are queued for the app, like the outbox. */
async function carryOut({ app }: SiteEnv): Promise<void> {
  const effects = {
    'static.removeBlobs': removeBlobs(shared.server),
    'static.discardApp': removeSiteObjects(shared.server),
  };
  const { rows } = await sql<{ topic: keyof typeof effects; payload: Record<string, unknown> }>`
    select topic, payload from svc.outbox where topic like 'static.%' and payload::text like ${`%${app.id}%`}`.execute(
    shared.database.db,
  );
  for (const { topic, payload } of rows) await effects[topic](payload);
}
async function keysOf({ ref }: SiteEnv): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of shared.server.objects.list(appBlobsPrefix(ref))) keys.push(key);
  return keys;
}
const wanted = async ({ ref }: SiteEnv) =>
  (await listBlobs(shared.database.db, ref)).flatMap((blob) => blobKeys(ref, blob)).sort();
const statesOf = async ({ call }: SiteEnv) =>
  (await call('GET', '/releases?per_page=200')).body.items.map(
    ({ number, state }: { number: number; state: string }) => `${number} ${state}`,
  ) as string[];
const makeOld = (id: string) =>
  sql`update svc.static_releases set created_at = created_at - make_interval(hours => ${draftHoursMax + 1})
    where id = ${id}`.execute(shared.database.db);
const filesOf = async (id: string) =>
  (await sql`select path from svc.static_files where release_id = ${id}`.execute(shared.database.db)).rows
    .length;

describe('the cleanup job', () => {
  test('abandons old drafts and deletes files that only they use', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    const common = 'in both';
    await world.release({ 'a.txt': common });
    const old = await world.create({ 'a.txt': common, 'b.txt': 'only in the draft' });
    await world.send(old, { 'a.txt': common, 'b.txt': 'only in the draft' });
    const young = await world.create({ 'c.txt': 'in a young one' });
    await world.send(young, { 'c.txt': 'in a young one' });
    await makeOld(old.body.id);
    await sweep();
    expect(await statesOf(world)).toEqual(['3 draft', '2 abandoned', '1 finalized']);
    expect(await filesOf(old.body.id)).toBe(0);
    expect(await listBlobs(shared.database.db, world.ref)).toHaveLength(2);
    await carryOut(world);
    expect((await keysOf(world)).sort()).toEqual(await wanted(world));
    expect((await world.move(young.body.id, 'finalize')).status).toBe(200);
  });

  test('retains the newest releases and those with a role; deletes the files of others', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    await world.call('POST', '/site/staging/enable');
    const ids: string[] = [];
    for (let at = 0; at < retainedReleasesMax + 4; at += 1)
      ids.push(await world.release({ 'n.txt': `content ${at}` }));
    await world.move(ids[0] ?? '', 'stage');
    // Activation expires surplus releases, and the plan lists them.
    const preview = await world.move(ids[1] ?? '', 'activate?dry_run=true');
    expect(preview.body.plan.warnings).toContain('Expired releases: #4, #3.');
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
    expect(await keysOf(world)).toHaveLength(retainedReleasesMax + 2);
    expect((await world.move(ids[2] ?? '', 'activate')).body.code).toBe('release_not_finalized');
  });

  test('never deletes a blob that a new release uses', async () => {
    const files = { 'a.txt': 'once and again', 'b.txt': 'another' };
    for (let turn = 0; turn < 8; turn += 1) {
      const world = await newSiteEnv(shared.database, shared.server);
      const first = await world.release(files);
      await world.move(first, 'revoke');
      const [draft] = await Promise.all([world.create(files), sweep()]);
      await world.send(draft, files);
      const [done] = await Promise.all([world.move(draft.body.id, 'finalize'), sweep()]);
      expect(done.status).toBe(200);
      // A late deletion never removes a newer upload.
      await carryOut(world);
      expect(await keysOf(world)).toEqual(await wanted(world));
      expect(await listBlobs(shared.database.db, world.ref)).toHaveLength(2);
    }
  });

  test('and a concurrent finalize: only one wins, and a finalized release is complete', async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      const world = await newSiteEnv(shared.database, shared.server);
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
      expect(await listBlobs(shared.database.db, world.ref)).toHaveLength(isDone ? 2 : 0);
      expect(await filesOf(draft.body.id)).toBe(isDone ? 2 : 0);
    }
  });

  test('keeps the file list of a release that ends meanwhile until its files are deleted', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    const [first, second] = [
      await world.release({ 'a.txt': 'one' }),
      await world.release({ 'b.txt': 'two' }),
    ];
    await world.move(first, 'revoke');
    const meanwhile: Outbox = {
      ...rowsOnlyOutbox,
      add: async (...args) => {
        await rowsOnlyOutbox.add(...args);
        // After the step that deletes bytes, before the one that deletes lists.
        if (args[2].some(({ topic }) => topic === 'static.removeBlobs'))
          await sql`update svc.static_releases set state = 'revoked' where id = ${second}`.execute(
            shared.database.db,
          );
      },
    };
    await cleanUpSite(
      { db: shared.database.db, outbox: meanwhile, log: silentLog, events: testEvents },
      world.ref,
      {
        before: new Date(0),
      },
    );
    expect([await filesOf(first), await filesOf(second), (await wanted(world)).length]).toEqual([0, 1, 1]);
    await sweep();
    await carryOut(world);
    expect([await filesOf(second), await wanted(world), await keysOf(world)]).toEqual([0, [], []]);
  });

  test('deletes unused blobs without any file list', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    const id = await world.release({ 'a.txt': 'one' });
    await world.move(id, 'revoke');
    await sql`delete from svc.static_files where release_id = ${id}`.execute(shared.database.db);
    await sweep();
    await carryOut(world);
    expect([await wanted(world), await keysOf(world)]).toEqual([[], []]);
  });

  test('can be interrupted, and the next run continues', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    const id = await world.release({ 'a.txt': 'left over' });
    await world.move(id, 'revoke');
    const failing: Outbox = {
      ...rowsOnlyOutbox,
      add: async (_, __, effects) => {
        if (effects.some(({ topic }) => topic === 'static.removeBlobs'))
          throw new Error('The shared.server ends.');
      },
    };
    await cleanUpReleases(
      { db: shared.database.db, outbox: failing, log: silentLog, events: testEvents },
      { now: new Date() },
    );
    expect([await keysOf(world), await filesOf(id)]).toEqual([await wanted(world), 1]);
    await sweep();
    await carryOut(world);
    expect([await keysOf(world), await wanted(world), await filesOf(id)]).toEqual([[], [], 0]);
  });
});

test('objects without a row are deleted after a day, also of purged apps', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  await world.release({ 'a.txt': 'kept' });
  const kept = await keysOf(world);
  const orphans = [
    `${appBlobsPrefix(world.ref)}${Bun.randomUUIDv7()}`,
    `${kept[0]}.gz`,
    `static/${world.tenant.id}/${Bun.randomUUIDv7()}/${Bun.randomUUIDv7()}.br`,
  ];
  async function* once() {
    yield new Uint8Array([1]);
  }
  for (const key of orphans) await shared.server.objects.put(key, once(), { bytesMax: 10 });
  const parts = { db: shared.database.db, objects: shared.server.objects };
  await removeOrphanObjects({ ...parts, now: new Date() });
  expect(await shared.server.objects.stat(orphans[2] ?? '')).not.toBeNull();
  await removeOrphanObjects({ ...parts, now: new Date(Date.now() + 25 * 3_600_000) });
  for (const key of orphans) expect(await shared.server.objects.stat(key)).toBeNull();
  expect(await keysOf(world)).toEqual(kept);
});

test('purging an app deletes its site and reports the counts', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  await world.release({ 'a.txt': 'aa', 'b.txt': 'bbb', 'same.txt': 'aa' }, { on_finalize: 'deploy' });
  await world.create({ 'c.txt': 'never sent' });
  expect((await world.ofApp('DELETE', '')).status).toBe(200);
  const row = await findAppRow(shared.database.db, world.tenant.id, world.app.id, 'any');
  if (!row) throw new Error('The app is gone.');
  const { value } = await testMutation(
    shared.database.db,
    world.people.owner,
    (ctx) => purgeLockedApp(ctx, row),
    {
      auditTenantId: world.tenant.id,
      rows: shared.database.rows,
    },
  );
  expect(value.removed).toMatchObject({ releases: 2, release_files: 2, release_bytes: 5 });
  await carryOut(world);
  expect(await keysOf(world)).toEqual([]);
  const { rows } = await sql`select 1 from svc.static_releases where app_id = ${world.app.id}`.execute(
    shared.database.db,
  );
  expect(rows).toEqual([]);
});
