import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { createLeasedWorker } from '../plumbing/leased-work.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { claimRun, renewClaim } from './claim-store.ts';
import {
  type BootstrapPlace,
  type BootstrapWorld,
  bootstrapPlace,
  bootstrapWorld,
  made,
  settleDeployments,
  until,
  type Watch,
  watched,
  withWorker,
} from './testing.ts';
import { workOnRun } from './work-on-run.ts';

let database: TestDatabase;
let place: BootstrapPlace;
beforeAll(async () => {
  database = await testDatabase();
  place = await bootstrapPlace(database);
});
afterAll(async () => {
  await place.stop();
  await database.close();
});

const once = { apps: 1, repositories: 1, connections: 1, hooks: 1, deployments: 1 };
const isEnded = async (world: BootstrapWorld, id: string) => {
  const run = await world.look(id);
  return run.ended_at === null ? null : run;
};

/** As if the copy that works on it had been silent for too long. */
const expireLease = (id: string) =>
  sql`update svc.bootstrap_runs set lease_until = now() - interval '1 s' where id = ${id}`.execute(
    database.db,
  );

describe('a copy that falls silent in the middle of a step', () => {
  const moments: [call: Parameters<Watch>[0], when: 'before' | 'after'][] = [
    ['createRepository', 'before'],
    ['createRepository', 'after'],
    ['credentials', 'before'],
    ['checkOut', 'after'],
    ['pushFirst', 'before'],
    ['pushFirst', 'after'],
  ];
  test.each(moments)(
    'at %s (%s): another ends the run, all is there once, and the first changes nothing any more',
    async (call, when) => {
      const world = await bootstrapWorld(place);
      const { id, slug } = await world.start();
      const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const parts = watched(place.parts, async (name, at) => {
        if (name !== call || at !== when) return;
        reached.resolve();
        await goOn.promise;
      });
      const claim = await claimRun(database.db);
      expect(claim?.runId).toBe(id);
      const silent = workOnRun(parts, claim!, new AbortController().signal);
      await reached.promise;
      await expireLease(id);
      const deployments = settleDeployments(place.parts, world.tenant.id);
      const run = await withWorker(place.parts, () => until('the run ends', () => isEnded(world, id)));
      expect(run.state).toBe('done');
      // It wakes up again, and finds that the run is not its own.
      goOn.resolve();
      await silent;
      deployments.stop();
      expect(await world.look(id)).toEqual(run);
      expect(await made(place.parts, world, slug)).toEqual(once);
    },
  );
});

describe('a copy that ends as a step begins', () => {
  test.each(['create_repo', 'seed_repo', 'connect', 'first_deploy'])(
    'with %s: another goes on from there',
    async (step) => {
      const world = await bootstrapWorld(place);
      const { id, slug } = await world.start();
      await until(`${step} is next`, async () => {
        await sql`update svc.bootstrap_runs set next_try_at = null where id = ${id}`.execute(database.db);
        const ending = new AbortController();
        const parts = watched(place.parts, async (_, when) => {
          if (when === 'before' && (await world.look(id)).step === step) ending.abort();
          ending.signal.throwIfAborted();
        });
        const claim = await claimRun(database.db);
        if (claim) await workOnRun(parts, claim, ending.signal);
        return (await world.look(id)).step === step;
      });
      const deployments = settleDeployments(place.parts, world.tenant.id);
      const run = await withWorker(place.parts, () => until('the run ends', () => isEnded(world, id)));
      deployments.stop();
      expect(run.state).toBe('done');
      expect(await made(place.parts, world, slug)).toEqual(once);
    },
  );
});

test('a copy that is told to stop lets go of its run at once, without a step lost or failed', async () => {
  const world = await bootstrapWorld(place);
  const { id, slug } = await world.start();
  const reached = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const parts = watched(place.parts, (name, when) => {
    if (name === 'createRepository' && when === 'after') {
      stopping.abort(new Error('The server is stopping.'));
      reached.resolve();
    }
  });
  const claim = await claimRun(database.db);
  await workOnRun(parts, claim!, stopping.signal);
  await reached.promise;
  const { rows } = await sql<{ lease_until: Date | null; failures: number }>`
    select lease_until, (select sum(failures)::int from svc.bootstrap_steps where run_id = id) as failures
    from svc.bootstrap_runs where id = ${id}`.execute(database.db);
  expect(rows).toEqual([{ lease_until: null, failures: 0 }]);
  const deployments = settleDeployments(place.parts, world.tenant.id);
  const run = await withWorker(place.parts, () => until('the run ends', () => isEnded(world, id)));
  deployments.stop();
  expect(run.state).toBe('done');
  expect(await made(place.parts, world, slug)).toEqual(once);
});

test('two copies share the runs: each is done once, by whichever of them', async () => {
  const world = await bootstrapWorld(place);
  const started = await Promise.all(Array.from({ length: 6 }, () => world.start()));
  const deployments = settleDeployments(place.parts, world.tenant.id);
  const worked: string[] = [];
  const copy = () =>
    createLeasedWorker({
      isAnyOpen: async () => true,
      ...{ name: 'test', log: place.parts.log, atOnceMax: 3, lookEveryMs: 50, renewEveryMs: 5_000 },
      claim: () => claimRun(database.db),
      renew: (claim) => renewClaim(database.db, claim),
      work: async (claim, signal) => {
        worked.push(claim.runId);
        await workOnRun(place.parts, claim, signal);
      },
    });
  const copies = [copy(), copy()];
  for (const each of copies) each.start();
  for (const { id, slug } of started) {
    expect((await until('each run ends', () => isEnded(world, id))).state).toBe('done');
    expect(await made(place.parts, world, slug)).toEqual(once);
  }
  for (const each of copies) await each.stop();
  deployments.stop();
  expect(new Set(worked)).toEqual(new Set(started.map(({ id }) => id)));
});

test('a newer deployment that passes over the first one is the one that is waited for', async () => {
  const world = await bootstrapWorld(place);
  const { id } = await world.start();
  const run = await withWorker(place.parts, async () => {
    const first = await until('the first deployment waits', async () => (await world.look(id)).deployment_id);
    await sql`
      with old as (update svc.deployments set state = 'skipped', ended_at = now() where id = ${first} returning *)
      insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at)
      select ${Bun.randomUUIDv7()}, tenant_id, app_id, seq + 1, kind, 'push', 'live', method, source, now() from old`.execute(
      database.db,
    );
    return { first, ...(await until('the run ends', () => isEnded(world, id))) };
  });
  expect(run.state).toBe('done');
  expect(run.deployment_id).not.toBe(run.first);
});

test('a step that was begun too often ends the run, so that it can not end the server for ever', async () => {
  const world = await bootstrapWorld(place);
  const { id } = await world.start();
  await sql`update svc.bootstrap_steps set attempts = 30 where run_id = ${id} and name = 'create_repo'`.execute(
    database.db,
  );
  const run = await withWorker(place.parts, () => until('the run ends', () => isEnded(world, id)));
  expect(run).toMatchObject({ state: 'failed', failure: { code: 'internal' }, step: 'create_repo' });
});
