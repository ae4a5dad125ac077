import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { attemptsMax } from './rules.ts';
import { sweepArtifacts } from './sweep-artifacts.ts';
import {
  type DeployingCopy,
  type DeployWorld,
  deployingCopy,
  deployWorld,
  dropLease,
  type Halts,
  haltAt,
  nodeApp,
  type Phase,
  passableFolder,
  removeFolder,
  until,
} from './testing.ts';

let database: TestDatabase;
const folder = passableFolder();
const copies: DeployingCopy[] = [];
const halted: (() => void)[] = [];
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  for (const go of halted.splice(0)) go();
  await Promise.all(copies.splice(0).map((copy) => copy.stop()));
});
afterAll(async () => {
  await database.close();
  removeFolder(folder);
});

const newCopy = async (options: Omit<Parameters<typeof deployingCopy>[1], 'dataDir'> = {}) => {
  const copy = await deployingCopy(database, { dataDir: folder, ...options });
  copies.push(copy);
  return copy;
};
const stopCopy = (copy: DeployingCopy) => {
  copies.splice(copies.indexOf(copy), 1);
  return copy.stop();
};
const halt = (...of: Parameters<typeof haltAt>) => {
  const stuck = haltAt(...of);
  halted.push(stuck.go);
  return stuck;
};
const running = (those: readonly DeployingCopy[], t: DeployWorld) => async () =>
  (await Promise.all(those.map(({ runtime }) => runtime.list())))
    .flat()
    .filter(({ appId }) => appId === t.app.id);
const ready = async (t: DeployWorld) =>
  (
    await sql<{ node: string }>`
      select node from svc.app_instances where app_id = ${t.app.id} and state = 'ready'`.execute(database.db)
  ).rows;

describe('a copy of the server that goes silent', () => {
  test.each(['fetch', 'build', 'built', 'start', 'started'] as const satisfies Phase[])(
    'at %s is taken over from by another, and changes nothing when it wakes',
    async (phase) => {
      const halts: Halts = {};
      // Busy with this one, it takes no other: not even the same once more.
      const silent = await newCopy({ halts, atOnceMax: { builds: 1, all: 1 } });
      const t = await deployWorld(database);
      const stuck = halt(halts, phase, t, { onAbort: 'hangs' });
      const { id } = await t.deploy(nodeApp(folder, phase));
      await stuck.reached;
      const other = await newCopy();
      await dropLease(database, id);
      expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 2 });
      stuck.go();
      await until(running([silent, other], t), (all) => all.length === 1);
      expect(await ready(t)).toEqual([{ node: other.runtime.node }]);
      expect(await t.says()).toBe(phase);
      expect(await t.row(id)).toMatchObject({ state: 'live', attempts: 2 });
    },
  );

  test('for a while, and claims its own once more, ends the one before it begins again', async () => {
    const halts: Halts = {};
    await newCopy({ halts });
    const t = await deployWorld(database);
    const stuck = halt(halts, 'built', t);
    const { id } = await t.deploy(nodeApp(folder, 'again'));
    await stuck.reached;
    // What is stuck ends by the abort alone; the next is not stopped.
    halts.built = async () => {};
    await dropLease(database, id);
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 2 });
    expect(await t.says()).toBe('again');
  });

  test('again and again is not followed for ever', async () => {
    const halts: Halts = {};
    await newCopy({ halts });
    const t = await deployWorld(database);
    const stuck = halt(halts, 'fetch', t);
    const { id } = await t.deploy(nodeApp(folder, 'one'));
    await stuck.reached;
    await sql`update svc.deployments set attempts = ${attemptsMax} where id = ${id}`.execute(database.db);
    await dropLease(database, id);
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'failed', failure_code: 'lost' });
    stuck.go();
  });

  test('after it was asked to stop has given back what it worked on: no attempt is lost', async () => {
    const halts: Halts = {};
    const first = await newCopy({ halts });
    const t = await deployWorld(database);
    const stuck = halt(halts, 'fetch', t);
    const { id } = await t.deploy(nodeApp(folder, 'one'));
    await stuck.reached;
    await stopCopy(first);
    expect(await t.row(id)).toMatchObject({ state: 'building', attempts: 0 });
    await newCopy();
    expect(await t.reaches(id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 1 });
  });
});

describe('what is live', () => {
  test('runs again after a restart of the server, as the one deployment that it is', async () => {
    const first = await newCopy();
    const t = await deployWorld(database);
    const { id } = await t.deploy(nodeApp(folder, 'still here'));
    await t.reaches(id, 'live');
    await stopCopy(first);
    expect(await t.says()).toBeNull();
    await newCopy();
    expect(
      await until(
        () => t.says(),
        (text) => text !== null,
      ),
    ).toBe('still here');
    expect(await t.rows()).toHaveLength(1);
  });

  test('is run by another copy where the one that ran it is silent for long', async () => {
    const [first, second] = [await newCopy(), await newCopy()];
    const t = await deployWorld(database);
    await t.reaches((await t.deploy(nodeApp(folder, 'one'))).id, 'live');
    // Of a copy that is dead: nobody confirms it any more.
    await sql`update svc.app_instances set node = ${Bun.randomUUIDv7()}, confirmed_at = now() - interval '16 seconds'
      where app_id = ${t.app.id}`.execute(database.db);
    await until(
      () => ready(t),
      (rows) => rows.some(({ node }) => [first, second].some(({ runtime }) => runtime.node === node)),
    );
    expect(await t.says()).toBe('one');
    expect(await ready(t)).toHaveLength(1);
    await until(running([first, second], t), (all) => all.length === 1);
  });

  test('is put in use also where that could not be written down the first time', async () => {
    await newCopy();
    const t = await deployWorld(database);
    await t.reaches((await t.deploy(nodeApp(folder, 'one'))).id, 'live');
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
    // It was refused, and has given up; or nobody confirms it, so that another takes its place.
    await until(seen, (rows) => rows[0]?.id !== stuck?.id);
    await sql`drop trigger refuse_ready on svc.app_instances`.execute(database.db);
    expect(
      await until(
        () => t.says(),
        (text) => text !== null,
      ),
    ).toBe('one');
  });

  test('is started again where its instance is gone', async () => {
    const copy = await newCopy();
    const t = await deployWorld(database);
    await t.reaches((await t.deploy(nodeApp(folder, 'one'))).id, 'live');
    const [before] = await running([copy], t)();
    await copy.runtime.stop(before!, { graceMs: 0 });
    const after = await until(running([copy], t), (all) => all.length === 1);
    expect(after[0]?.instanceId).not.toBe(before?.instanceId);
    await until(
      () => ready(t),
      (rows) => rows.length === 1,
    );
    expect(await t.says()).toBe('one');
  });
});

test('what was built and is nobody’s is removed, and what is kept or just being built is not', async () => {
  const halts: Halts = {};
  const copy = await newCopy({ halts });
  const [kept, gone, building] = [
    await deployWorld(database),
    await deployWorld(database),
    await deployWorld(database),
  ];
  const there = async (t: DeployWorld) =>
    (await copy.runtime.artifacts!()).filter(({ appId }) => appId === t.app.id).length;
  await kept.reaches((await kept.deploy(nodeApp(folder, 'kept'))).id, 'live');
  const stuck = [gone, building].map((t) => halt(halts, 'built', t, { onAbort: 'hangs' }));
  for (const t of [gone, building]) await t.deploy(nodeApp(folder, 'built'));
  for (const { reached } of stuck) await reached;
  // As a purge does, before the copy that builds it has heard of it.
  await sql`delete from svc.apps where id = ${gone.app.id}`.execute(database.db);
  expect([await there(kept), await there(gone), await there(building)]).toEqual([1, 1, 1]);
  await sweepArtifacts({ db: database.db, runtime: copy.runtime });
  expect([await there(kept), await there(gone), await there(building)]).toEqual([1, 0, 1]);
});

test('two copies share the deployments of many apps, each carried out once', async () => {
  const both = [await newCopy(), await newCopy()];
  const worlds = await Promise.all(Array.from({ length: 6 }, () => deployWorld(database)));
  const rows = await Promise.all(worlds.map((t) => t.deploy(nodeApp(folder, t.app.slug))));
  for (const [at, t] of worlds.entries()) {
    expect(await t.reaches(rows[at]!.id, 'live', 'failed')).toMatchObject({ state: 'live', attempts: 1 });
    expect(await t.says()).toBe(t.app.slug);
    expect(await running(both, t)()).toHaveLength(1);
  }
});
