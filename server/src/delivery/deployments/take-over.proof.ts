import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { until } from '../testing.ts';
import { deleteOrphanedArtifacts } from './artifacts.ts';
import { wakeApp } from './instances-store.ts';
import { lateMs } from './reconcile.ts';
import { attemptsMax } from './rules.ts';
import { type DeployWorld, dropLease, type Halts, type Phase, useDeployments } from './testing.ts';

const { database, newWorld, start, stop, halt, nodeApp } = useDeployments({ servers: 'per test' });

const ready = async (t: DeployWorld) =>
  (
    await sql<{ node: string }>`
      select node from svc.app_instances where app_id = ${t.app.id} and state = 'ready'`.execute(database.db)
  ).rows;

describe('a server that stops responding', () => {
  test.each(['fetch', 'build', 'built', 'start', 'started'] as const satisfies Phase[])(
    'at %s is replaced by another, and changes nothing when it continues',
    async (phase) => {
      const halts: Halts = {};
      // A busy server takes no other deployment, nor the same one twice.
      const silent = await start({ halts, concurrencyMax: { builds: 1, all: 1 } });
      const t = await newWorld();
      const stuck = halt(halts, phase, t, { onAbort: 'hangs' });
      const { id } = await t.deploy(nodeApp(phase));
      await stuck.reached;
      const other = await start();
      await dropLease(database, id);
      expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 2 });
      stuck.go();
      await until(
        () => t.instances(silent, other),
        (all) => all.length === 1,
      );
      expect(await ready(t)).toEqual([{ node: other.runtime.node }]);
      expect(await t.responseText()).toBe(phase);
      expect(await t.row(id)).toMatchObject({ state: 'live', attempts: 2 });
    },
  );

  test('and claims its own deployment again ends the earlier attempt first', async () => {
    const halts: Halts = {};
    await start({ halts });
    const t = await newWorld();
    const stuck = halt(halts, 'built', t);
    const { id } = await t.deploy(nodeApp('again'));
    await stuck.reached;
    // Only the abort ends the stuck deployment; the next one is not stopped.
    halts.built = async () => {};
    await dropLease(database, id);
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 2 });
    expect(await t.responseText()).toBe('again');
  });

  test('again and again fails the deployment', async () => {
    const halts: Halts = {};
    await start({ halts });
    const t = await newWorld();
    const stuck = halt(halts, 'fetch', t);
    const { id } = await t.deploy(nodeApp('one'));
    await stuck.reached;
    await sql`update svc.deployments set attempts = ${attemptsMax} where id = ${id}`.execute(database.db);
    await dropLease(database, id);
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'failed', failure_code: 'lost' });
    stuck.go();
  });

  test('after a graceful stop has released its deployment, and no attempt is counted', async () => {
    const halts: Halts = {};
    const first = await start({ halts });
    const t = await newWorld();
    const stuck = halt(halts, 'fetch', t);
    const { id } = await t.deploy(nodeApp('one'));
    await stuck.reached;
    await stop(first);
    expect(await t.row(id)).toMatchObject({ state: 'building', attempts: 0 });
    await start();
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 1 });
  });
});

describe('a live app', () => {
  test('runs again after a restart of the server, without a new deployment', async () => {
    const first = await start();
    const t = await newWorld();
    const { id } = await t.deploy(nodeApp('still here'));
    await t.reaches(id, 'live');
    await stop(first);
    expect(await t.responseText()).toBeNull();
    await start();
    expect(
      await until(
        () => t.responseText(),
        (text) => text !== null,
      ),
    ).toBe('still here');
    expect(await t.rows()).toHaveLength(1);
  });

  test('is started by another server if its own stops responding', async () => {
    const [first, second] = [await start(), await start()];
    const t = await newWorld();
    await t.live(nodeApp('one'));
    // The lease of a dead server: no process renews it.
    await sql`update svc.app_instances set node = ${Bun.randomUUIDv7()}, confirmed_at = now() - interval '16 seconds'
      where app_id = ${t.app.id}`.execute(database.db);
    await until(
      () => ready(t),
      (rows) => rows.some(({ node }) => [first, second].some(({ runtime }) => runtime.node === node)),
    );
    expect(await t.responseText()).toBe('one');
    expect(await ready(t)).toHaveLength(1);
    await until(
      () => t.instances(first, second),
      (all) => all.length === 1,
    );
  });

  test('keeps its instance when the database was away for so long that no server could confirm it', async () => {
    const one = { concurrencyMax: { builds: 1, all: 1 } };
    const servers = [await start(one), await start(one)];
    const worlds = [await newWorld(), await newWorld()];
    // Each server takes one of two deployments at a time.
    await Promise.all(worlds.map((t) => t.live(nodeApp('one'))));
    const listed = () =>
      Promise.all(
        servers.map(async (server) => (await Promise.all(worlds.map((t) => t.instances(server)))).flat()),
      );
    const before = await listed();
    expect(before).toMatchObject([[{}], [{}]]);
    await sql`alter table svc.app_instances rename to away`.execute(database.db);
    await Bun.sleep(lateMs + 3_000);
    await sql`update svc.away set confirmed_at = now() - interval '70 seconds'`.execute(database.db);
    await sql`alter table svc.away rename to app_instances`.execute(database.db);
    const confirmed = async () =>
      (
        await sql`
          select from svc.app_instances where app_id = any(${worlds.map((t) => t.app.id)}::uuid[])
            and state = 'ready' and confirmed_at > now() - interval '10 seconds'`.execute(database.db)
      ).rows.length;
    await until(confirmed, (count) => count === 2);
    expect(await listed()).toEqual(before);
  });

  test('is served although saving its state failed once', async () => {
    await start();
    const t = await newWorld();
    await t.live(nodeApp('one'));
    await sql`create function svc.refuse_ready() returns trigger language plpgsql as $$ begin
      if new.state = 'ready' and old.state <> 'ready' then raise exception 'gone'; end if; return new; end $$`.execute(
      database.db,
    );
    await sql`create trigger refuse_ready before update on svc.app_instances
      for each row execute function svc.refuse_ready()`.execute(database.db);
    await sql`delete from svc.app_instances where app_id = ${t.app.id}`.execute(database.db);
    const seen = async () =>
      (
        await sql<{ id: string; address: string | null }>`
          select id, address from svc.app_instances where app_id = ${t.app.id}`.execute(database.db)
      ).rows;
    const [stuck] = await until(seen, (rows) => rows.some(({ address }) => address !== null));
    // The deployment was refused and given up, or its lease expired and another server takes it over.
    await until(seen, (rows) => rows[0]?.id !== stuck?.id);
    await sql`drop trigger refuse_ready on svc.app_instances`.execute(database.db);
    expect(
      await until(
        () => t.responseText(),
        (text) => text !== null,
      ),
    ).toBe('one');
  });

  test('is started again if its instance is gone', async () => {
    const copy = await start();
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const [before] = await t.instances(copy);
    await copy.runtime.stop(before!, { graceMs: 0 });
    const after = await until(
      () => t.instances(copy),
      (all) => all.length === 1,
    );
    expect(after[0]?.instanceId).not.toBe(before?.instanceId);
    await until(
      () => ready(t),
      (rows) => rows.length === 1,
    );
    expect(await t.responseText()).toBe('one');
  });
});

test('orphaned artifacts are removed, but not retained ones or those of a running build', async () => {
  const halts: Halts = {};
  const copy = await start({ halts });
  const [kept, gone, building] = [await newWorld(), await newWorld(), await newWorld()];
  const there = async (t: DeployWorld) =>
    (await copy.runtime.artifacts!()).filter(({ appId }) => appId === t.app.id).length;
  await kept.live(nodeApp('kept'));
  const stuck = [gone, building].map((t) => halt(halts, 'built', t, { onAbort: 'hangs' }));
  for (const t of [gone, building]) await t.deploy(nodeApp('built'));
  for (const { reached } of stuck) await reached;
  // Deletes like a purge, before the building server is notified.
  await sql`delete from svc.apps where id = ${gone.app.id}`.execute(database.db);
  expect([await there(kept), await there(gone), await there(building)]).toEqual([1, 1, 1]);
  await deleteOrphanedArtifacts({ db: database.db, runtime: copy.runtime });
  expect([await there(kept), await there(gone), await there(building)]).toEqual([1, 0, 1]);
});

test('two servers share the deployments of many apps, each carried out once', async () => {
  const both = [await start(), await start()];
  const worlds = await Promise.all(Array.from({ length: 6 }, () => newWorld()));
  const rows = await Promise.all(worlds.map((t) => t.deploy(nodeApp(t.app.slug))));
  for (const [at, t] of worlds.entries()) {
    expect(await t.reaches(rows[at]!.id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 1 });
    expect(await t.responseText()).toBe(t.app.slug);
    expect(await t.instances(...both)).toHaveLength(1);
  }
});

describe('two servers', () => {
  test('run the instances of an app together, start each once, and take over from each other', async () => {
    const [one, other] = [await start(), await start()];
    const t = await newWorld();
    const yaml = 'start: node server.cjs\ninstances: 3\nsleep: 5m\n';
    expect(await t.live(nodeApp('both', { 'svc.yaml': yaml }))).toMatchObject({ state: 'live' });
    await sql`update svc.app_activity set last_active_at = now() - interval '1 day' where app_id = ${t.app.id}`.execute(
      database.db,
    );
    await until(
      () => t.instances(one, other),
      (all) => all.length === 0,
    );
    await Promise.all([1, 2, 3, 4].map(() => wakeApp(database.db, t.app.id)));
    await until(
      () => ready(t),
      (all) => all.length === 3,
    );
    expect(await t.instances(one, other)).toHaveLength(3);
    await stop(one);
    await until(
      async () => [await t.instances(other), await ready(t)] as const,
      ([running, rows]) => running.length === 3 && rows.length === 3,
    );
    expect(await t.responseText()).toBe('both');
  });
});
