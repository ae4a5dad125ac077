import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { createLeasedWorker } from '../../core/jobs.ts';
import { until } from '../testing.ts';
import { workOnRun } from './state-machine.ts';
import { claimRun, renewClaim } from './store.ts';
import {
  countCreated,
  newWorld,
  runEnd,
  settleDeployments,
  useBootstrap,
  type Watch,
  watchCalls,
  withWorker,
} from './testing.ts';

const { database, env } = useBootstrap();

const once = { apps: 1, repositories: 1, connections: 1, hooks: 1, deployments: 1 };

/** Expires the lease of the server that works on the run. */
const expireLease = (id: string) =>
  sql`update svc.bootstrap_runs set lease_until = now() - interval '1 s' where id = ${id}`.execute(
    database.db,
  );

describe('a server that stops responding during a step', () => {
  const moments: [call: Parameters<Watch>[0], when: 'before' | 'after'][] = [
    ['createRepository', 'before'],
    ['createRepository', 'after'],
    ['credentials', 'before'],
    ['checkOut', 'after'],
    ['pushFirst', 'before'],
    ['pushFirst', 'after'],
  ];
  test.each(moments)(
    'at %s (%s): another server finishes the run, creates everything once, and the first changes nothing',
    async (call, when) => {
      const world = await newWorld(env);
      const { id, slug } = await world.start();
      const [reached, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const deps = watchCalls(env.deps, async (name, at) => {
        if (name !== call || at !== when) return;
        reached.resolve();
        await resume.promise;
      });
      const claim = await claimRun(database.db);
      expect(claim?.runId).toBe(id);
      const silent = workOnRun(deps, claim!, new AbortController().signal);
      await reached.promise;
      await expireLease(id);
      const run = await world.finish(id);
      expect(run.state).toBe('done');
      // The first server continues, and finds that it has lost the run.
      resume.resolve();
      await silent;
      expect(await world.look(id)).toEqual(run);
      expect(await countCreated(env.deps, world, slug)).toEqual(once);
    },
  );
});

describe('a server that ends at the start of a step', () => {
  test.each(['create_repo', 'seed_repo', 'connect', 'first_deploy'])(
    'with %s: another server resumes there',
    async (step) => {
      const world = await newWorld(env);
      const { id, slug } = await world.start();
      await until(async () => {
        await sql`update svc.bootstrap_runs set next_try_at = null where id = ${id}`.execute(database.db);
        const ending = new AbortController();
        const deps = watchCalls(env.deps, async (_, when) => {
          if (when === 'before' && (await world.look(id)).step === step) ending.abort();
          ending.signal.throwIfAborted();
        });
        const claim = await claimRun(database.db);
        if (claim) await workOnRun(deps, claim, ending.signal);
        return (await world.look(id)).step === step;
      });
      const run = await world.finish(id);
      expect(run.state).toBe('done');
      expect(await countCreated(env.deps, world, slug)).toEqual(once);
    },
  );
});

test('a server that stops releases its run at once, without a lost or failed step', async () => {
  const world = await newWorld(env);
  const { id, slug } = await world.start();
  const reached = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const deps = watchCalls(env.deps, (name, when) => {
    if (name === 'createRepository' && when === 'after') {
      stopping.abort(new Error('The server is stopping.'));
      reached.resolve();
    }
  });
  const claim = await claimRun(database.db);
  await workOnRun(deps, claim!, stopping.signal);
  await reached.promise;
  const { rows } = await sql<{ lease_until: Date | null; failures: number }>`
    select lease_until, (select sum(failures)::int from svc.bootstrap_steps where run_id = id) as failures
    from svc.bootstrap_runs where id = ${id}`.execute(database.db);
  expect(rows).toEqual([{ lease_until: null, failures: 0 }]);
  const run = await world.finish(id);
  expect(run.state).toBe('done');
  expect(await countCreated(env.deps, world, slug)).toEqual(once);
});

test('two servers share the runs, and each run is carried out once', async () => {
  const world = await newWorld(env);
  const started = await Promise.all(Array.from({ length: 6 }, () => world.start()));
  const deployments = settleDeployments(env.deps, world.tenant.id);
  const worked: string[] = [];
  const copy = () =>
    createLeasedWorker({
      hasOpenWork: async () => true,
      name: 'test',
      log: env.deps.log,
      concurrencyMax: 3,
      pollMs: 50,
      renewMs: 5_000,
      claim: () => claimRun(database.db),
      renew: (claim) => renewClaim(database.db, claim),
      work: async (claim, signal) => {
        worked.push(claim.runId);
        await workOnRun(env.deps, claim, signal);
      },
    });
  const copies = [copy(), copy()];
  for (const each of copies) each.start();
  for (const { id, slug } of started) {
    expect((await runEnd(() => world.look(id))).state).toBe('done');
    expect(await countCreated(env.deps, world, slug)).toEqual(once);
  }
  for (const each of copies) await each.stop();
  deployments.stop();
  expect(new Set(worked)).toEqual(new Set(started.map(({ id }) => id)));
});

test('a run waits for the newer deployment that replaces its first one', async () => {
  const world = await newWorld(env);
  const { id } = await world.start();
  const run = await withWorker(env.deps, async () => {
    const first = await until(async () => (await world.look(id)).deployment_id);
    await sql`
      with old as (update svc.deployments set state = 'skipped', ended_at = now() where id = ${first} returning *)
      insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at)
      select ${Bun.randomUUIDv7()}, tenant_id, app_id, seq + 1, kind, 'push', 'live', method, source, now() from old`.execute(
      database.db,
    );
    return { first, ...(await runEnd(() => world.look(id))) };
  });
  expect(run.state).toBe('done');
  expect(run.deployment_id).not.toBe(run.first);
});

test('a step that was started too often ends the run, so that it cannot crash the server forever', async () => {
  const world = await newWorld(env);
  const { id } = await world.start();
  await sql`update svc.bootstrap_steps set attempts = 30 where run_id = ${id} and name = 'create_repo'`.execute(
    database.db,
  );
  const run = await world.finish(id);
  expect(run).toMatchObject({ state: 'failed', failure: { code: 'internal' }, step: 'create_repo' });
});
