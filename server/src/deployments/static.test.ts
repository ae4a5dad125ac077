import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { activateRelease } from '../static-sites/activate-release.ts';
import { codeOf, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { liveInstancesOf } from './live-instances.ts';
import { queueDeployment } from './queue-deployment.ts';
import { rollbackDeployment } from './rollback-deployment.ts';
import {
  type DeployingCopy,
  type DeployWorld,
  deployingCopy,
  deployWorld,
  dropLease,
  type Halts,
  haltAt,
  passableFolder,
  removeFolder,
  testPlaces,
  until,
} from './testing.ts';

let database: TestDatabase;
let copy: DeployingCopy;
const folder = passableFolder();
const halts: Halts = {};
beforeAll(async () => {
  database = await testDatabase();
  copy = await deployingCopy(database, { dataDir: folder, halts });
});
afterAll(async () => {
  await copy.stop();
  await database.close();
  removeFolder(folder);
});

const world = () => deployWorld(database, { method: 'static' });
const as = (t: DeployWorld) => ({
  context: { tenant: { ...t.tenant, role: 'tenant_member' as const }, app: t.app },
});
const live = async (t: DeployWorld, text: string) =>
  t.reaches((await t.deploy(site(text))).id, 'live', 'failed');
const setVisibility = (t: DeployWorld, visibility: string) =>
  sql`update svc.apps set visibility = ${visibility} where id = ${t.app.id}`.execute(database.db);
const shown = async (t: DeployWorld) => {
  const { rows } = await sql<{ release: string; live: string | null; runtime: string }>`
    select s.active_release_id as release, a.live_deployment_id as live, a.runtime
    from svc.apps a left join svc.static_sites s on s.app_id = a.id where a.id = ${t.app.id}`.execute(
    database.db,
  );
  return rows[0];
};

function site(text: string): string {
  const dir = join(folder, Bun.randomUUIDv7());
  mkdirSync(dir);
  writeFileSync(join(dir, 'index.html'), `<h1>${text}</h1>`);
  return dir;
}

describe('a deployment of a static app', () => {
  test('makes a release that is shown, and runs nothing', async () => {
    const t = await world();
    const first = await live(t, 'one');
    expect(first).toMatchObject({ state: 'live', failure_code: null, is_kept: true });
    expect(await shown(t)).toEqual({ release: first.release_id!, live: first.id, runtime: 'running' });
    const second = await live(t, 'two');
    expect(await shown(t)).toMatchObject({ release: second.release_id, live: second.id });
    expect((await t.row(first.id)).state).toBe('superseded');
    expect(await liveInstancesOf(database.db, t.app.id)).toBeNull();
  });

  test('is rolled back to by showing its release again', async () => {
    const t = await world();
    const first = await live(t, 'one');
    await live(t, 'two');
    const { value: back } = await testMutation(
      database.db,
      t.owner,
      (ctx) => rollbackDeployment(ctx, { id: first.id }, testPlaces),
      as(t),
    );
    const row = await t.reaches(back.id, 'live', 'failed');
    expect(row).toMatchObject({ state: 'live', kind: 'rollback', release_id: first.release_id });
    expect(await shown(t)).toMatchObject({ release: first.release_id, live: back.id });
  });

  test('waits for its review where others see the app, and holds nobody up meanwhile', async () => {
    const t = await world();
    const first = await live(t, 'one');
    await setVisibility(t, 'public');
    const { id } = await t.deploy(site('two'));
    await t.reaches(id, 'built', 'live', 'failed');
    const { id: next } = await t.deploy(site('three'));
    await t.reaches(next, 'built', 'live', 'failed');
    const waiting = await t.reaches(id, 'built');
    expect(waiting).toMatchObject({ failure_code: null });
    expect(waiting.ended_at).not.toBeNull();
    expect(await shown(t)).toMatchObject({ release: first.release_id, live: first.id });
    // As it is once somebody else has looked at it.
    await sql`update svc.static_releases set reviewed_for = 'public' where id = ${waiting.release_id}`.execute(
      database.db,
    );
    await testMutation(
      database.db,
      t.owner,
      (ctx) => activateRelease(ctx, { id: waiting.release_id! }, testPlaces),
      as(t),
    );
    expect((await t.row(id)).state).toBe('live');
    expect((await t.row(first.id)).state).toBe('superseded');
    expect(await shown(t)).toMatchObject({ release: waiting.release_id, live: id });
  });

  test('that waits for its review is never being released; one that is shown is', async () => {
    await sql`create table if not exists svc.states_seen (id uuid, state text)`.execute(database.db);
    await sql`create or replace function svc.note_state() returns trigger language plpgsql as
      $$ begin insert into svc.states_seen values (new.id, new.state); return new; end $$`.execute(
      database.db,
    );
    await sql`create or replace trigger note_state after insert or update of state on svc.deployments
      for each row execute function svc.note_state()`.execute(database.db);
    const seen = async (id: string) =>
      (
        await sql<{ state: string }>`select distinct state from svc.states_seen where id = ${id}`.execute(
          database.db,
        )
      ).rows
        .map(({ state }) => state)
        .sort();
    const t = await world();
    const first = await live(t, 'one');
    expect(await seen(first.id)).toEqual(['building', 'built', 'live', 'queued', 'releasing']);
    const second = await live(t, 'two');
    await setVisibility(t, 'public');
    const { id } = await t.deploy(site('three'));
    const waiting = await until(
      () => t.row(id),
      ({ ended_at }) => ended_at !== null,
    );
    expect(waiting).toMatchObject({ state: 'built', step: null, failure_code: null });
    expect(await seen(id)).toEqual(['building', 'built', 'queued']);
    // As little where it is gone back to.
    const { value: back } = await testMutation(
      database.db,
      t.owner,
      (ctx) => rollbackDeployment(ctx, { id: first.id }, testPlaces),
      as(t),
    );
    await until(
      () => t.row(back.id),
      ({ ended_at }) => ended_at !== null,
    );
    expect(await seen(back.id)).toEqual(['building', 'built', 'queued']);
    expect(await shown(t)).toMatchObject({ live: second.id });
  });

  test('that a push asked for, and so nobody, is made in the name of the representative owner', async () => {
    const t = await world();
    const { value } = await testMutation(
      database.db,
      t.owner,
      (ctx) =>
        queueDeployment(ctx, {
          ...{ ...t.place, trigger: 'push', source: 'repository', ref: site('one'), createdBy: null },
        }),
      { context: { tenant: t.tenant } },
    );
    expect(await t.reaches(value.id, 'live', 'failed')).toMatchObject({ state: 'live' });
  });

  test('is made also where the representative owner is suspended since', async () => {
    const t = await world();
    await live(t, 'one');
    await sql`update svc.users set status = 'suspended' where id = ${t.owner.userId}`.execute(database.db);
    const second = await live(t, 'two');
    expect(second).toMatchObject({ state: 'live', failure_code: null });
    expect(await shown(t)).toMatchObject({ release: second.release_id, live: second.id });
  });

  test('whose release is not kept any more is not gone back to', async () => {
    const t = await world();
    const first = await live(t, 'one');
    await live(t, 'two');
    const back = () =>
      testMutation(
        database.db,
        t.owner,
        (ctx) => rollbackDeployment(ctx, { id: first.id }, testPlaces),
        as(t),
      );
    await sql`update svc.static_releases set state = 'expired' where id = ${first.release_id}`.execute(
      database.db,
    );
    expect(await codeOf(back())).toBe('artifact_expired');
    expect(await t.rows()).toHaveLength(2);
  });

  test('that is taken over while it is released is made anew, and stays being released', async () => {
    const t = await world();
    const first = haltAt(halts, 'built', t);
    const { id } = await t.deploy(site('one'));
    await first.reached;
    const again = haltAt(halts, 'fetch', t);
    // As if it had come so far with the copy that is silent now.
    await sql`update svc.deployments set state = 'releasing', step = 'switch' where id = ${id}`.execute(
      database.db,
    );
    await dropLease(database, id);
    await again.reached;
    expect(await t.row(id)).toMatchObject({ state: 'releasing', attempts: 2 });
    first.go();
    again.go();
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live' });
  });

  test('that another takes over makes one release', async () => {
    const t = await world();
    const stuck = haltAt(halts, 'built', t);
    const { id } = await t.deploy(site('one'));
    await stuck.reached;
    await dropLease(database, id);
    await until(
      () => t.row(id),
      ({ attempts }) => attempts === 2,
    );
    stuck.go();
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 2 });
    const { rows } = await sql`select from svc.static_releases where app_id = ${t.app.id}`.execute(
      database.db,
    );
    expect(rows).toHaveLength(1);
  });
});
