import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { codeOf } from '../../testing.ts';
import { activateRelease } from '../static-sites/release-moves.ts';
import { until } from '../testing.ts';
import { rollbackDeployment } from './deployments.ts';
import { findLiveInstances } from './instances-store.ts';
import { type DeployWorld, dropLease, haltAt, testUrls, useDeployments } from './testing.ts';

const { database, folder, halts, newWorld } = useDeployments();

const world = () => newWorld('static');
const live = (t: DeployWorld, text: string) => t.live(site(text));
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
  test('creates an active release and starts no process', async () => {
    const t = await world();
    const first = await live(t, 'one');
    expect(first).toMatchObject({ state: 'live', failure_code: null, is_kept: true });
    expect(await shown(t)).toEqual({ release: first.release_id!, live: first.id, runtime: 'running' });
    const second = await live(t, 'two');
    expect(await shown(t)).toMatchObject({ release: second.release_id, live: second.id });
    expect((await t.row(first.id)).state).toBe('superseded');
    expect(await findLiveInstances(database.db, t.app.id)).toBeNull();
  });

  test('is rolled back to by activating its release again', async () => {
    const t = await world();
    const first = await live(t, 'one');
    await live(t, 'two');
    const back = await t.mutate((ctx) => rollbackDeployment(ctx, { id: first.id }, testUrls));
    const row = await t.reaches(back.id, 'live', 'failed');
    expect(row).toMatchObject({ state: 'live', kind: 'rollback', release_id: first.release_id });
    expect(await shown(t)).toMatchObject({ release: first.release_id, live: back.id });
  });

  test('needs a review if others see the app, and does not block later ones', async () => {
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
    // The state after a review by another person.
    await sql`update svc.static_releases set reviewed_for = 'public' where id = ${waiting.release_id}`.execute(
      database.db,
    );
    await t.mutate((ctx) => activateRelease(ctx, { id: waiting.release_id! }, testUrls));
    expect((await t.row(id)).state).toBe('live');
    expect((await t.row(first.id)).state).toBe('superseded');
    expect(await shown(t)).toMatchObject({ release: waiting.release_id, live: id });
  });

  test('that needs a review never has the state releasing; others have', async () => {
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
    // A rollback is not released before its review either.
    const back = await t.mutate((ctx) => rollbackDeployment(ctx, { id: first.id }, testUrls));
    await until(
      () => t.row(back.id),
      ({ ended_at }) => ended_at !== null,
    );
    expect(await seen(back.id)).toEqual(['building', 'built', 'queued']);
    expect(await shown(t)).toMatchObject({ live: second.id });
  });

  test('of a push by an unknown user is created as the representative owner', async () => {
    const t = await world();
    expect(await t.live(site('one'), { isPush: true })).toMatchObject({ state: 'live' });
  });

  test('works although the representative owner was suspended', async () => {
    const t = await world();
    await live(t, 'one');
    await sql`update svc.users set status = 'suspended' where id = ${t.owner.userId}`.execute(database.db);
    const second = await live(t, 'two');
    expect(second).toMatchObject({ state: 'live', failure_code: null });
    expect(await shown(t)).toMatchObject({ release: second.release_id, live: second.id });
  });

  test('whose release expired cannot be rolled back to', async () => {
    const t = await world();
    const first = await live(t, 'one');
    await live(t, 'two');
    const back = () => t.mutate((ctx) => rollbackDeployment(ctx, { id: first.id }, testUrls));
    await sql`update svc.static_releases set state = 'expired' where id = ${first.release_id}`.execute(
      database.db,
    );
    expect(await codeOf(back())).toBe('artifact_expired');
    expect(await t.rows()).toHaveLength(2);
  });

  test('that is taken over during its release builds again and keeps its state', async () => {
    const t = await world();
    const first = haltAt(halts, 'built', t);
    const { id } = await t.deploy(site('one'));
    await first.reached;
    const again = haltAt(halts, 'fetch', t);
    // The state that a server left behind when it died in this phase.
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

  test('that another server takes over creates one release', async () => {
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
