import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import {
  archiveApp,
  deleteApp,
  purgeApp,
  reactivateApp,
  resumeApp,
  suspendApp,
} from '../../apps/record/lifecycle.ts';
import type { AppMutationCtx } from '../../core/context.ts';
import { codeOf } from '../../testing.ts';
import { changeEnv } from '../env/env.ts';
import { until } from '../testing.ts';
import { type DeployWorld, haltAt, testUrls, useDeployments } from './testing.ts';

const { database, server, halts, start, stop, newWorld, nodeApp } = useDeployments();

const stopped = (t: DeployWorld) => until(async () => (await t.instances(server)).length === 0);
const live = (t: DeployWorld, text: string) => t.live(nodeApp(text));
const stored = async (t: DeployWorld) =>
  (
    await sql<{
      record: string;
      runtime: string;
    }>`select record, runtime from svc.apps where id = ${t.app.id}`.execute(database.db)
  ).rows[0];

const resume = (ctx: AppMutationCtx) => resumeApp(ctx);
const moves = { suspend: suspendApp, archive: archiveApp, delete: deleteApp };

describe.each(['suspend', 'archive', 'delete'] as const)('the operation %s on an app', (name) => {
  test('stops its instances', async () => {
    const t = await newWorld();
    await live(t, 'one');
    await t.mutate(moves[name]);
    expect(await t.responseText()).toBeNull();
    await stopped(t);
    expect((await t.rows())[0]?.state).toBe('live');
  });

  test('cancels queued and building deployments', async () => {
    const t = await newWorld();
    await live(t, 'one');
    const halt = haltAt(halts, 'build', t);
    const building = await t.deploy(nodeApp('two'));
    await halt.reached;
    const waiting = await t.deploy(nodeApp('three'));
    await t.mutate(moves[name]);
    expect((await t.row(waiting.id)).state).toBe('canceled');
    await t.reaches(building.id, 'canceled');
    halt.go();
    await stopped(t);
  });

  test('is rejected during a release, which then goes live', async () => {
    const t = await newWorld();
    await live(t, 'one');
    const halt = haltAt(halts, 'started', t);
    const releasing = await t.deploy(nodeApp('two'));
    await halt.reached;
    const before = await stored(t);
    expect(await codeOf(t.mutate(moves[name]))).toBe('deploy_in_progress');
    expect(await stored(t)).toEqual(before);
    halt.go();
    await t.reaches(releasing.id, 'live');
    expect(await t.responseText()).toBe('two');
  });
});

describe('resuming an app', () => {
  test('deploys the live artifact with the current variables; the app runs once that is live', async () => {
    const t = await newWorld();
    const first = await live(t, 'one');
    await t.mutate(suspendApp);
    await stopped(t);
    const change = { set: { GREETING: 'since then' }, unset: [], environment: 'production' as const };
    await t.mutate((ctx) => changeEnv(ctx, change, testUrls));
    const halt = haltAt(halts, 'start', t);
    expect(await t.mutate(resume)).toMatchObject({ runtime: 'suspended' });
    expect(await t.mutate(resume)).toMatchObject({ runtime: 'suspended', changed: false });
    await halt.reached;
    expect(await stored(t)).toMatchObject({ runtime: 'suspended' });
    halt.go();
    const row = (await t.rows())[0]!;
    expect(row).toMatchObject({ seq: 2, kind: 'resume', trigger: 'resume', digest: first.digest });
    await t.reaches(row.id, 'live');
    expect(await stored(t)).toMatchObject({ runtime: 'running' });
    expect(JSON.parse((await t.responseText('/env')) ?? '{}')).toMatchObject({ GREETING: 'since then' });
    expect((await t.row(first.id)).state).toBe('superseded');
  });

  test('and suspending it meanwhile leaves it suspended', async () => {
    const t = await newWorld();
    await live(t, 'one');
    await t.mutate(suspendApp);
    // No worker runs to start it.
    await stop(server);
    await t.mutate(resume);
    expect(await t.mutate(suspendApp)).not.toHaveProperty('changed');
    expect((await t.rows())[0]).toMatchObject({ kind: 'resume', state: 'canceled', is_kept: false });
    expect(await t.mutate(suspendApp)).toMatchObject({ changed: false, runtime: 'suspended' });
    Object.assign(server, await start({ halts }));
    expect(await stored(t)).toMatchObject({ runtime: 'suspended' });
  });

  test('cannot be suspended during the release', async () => {
    const t = await newWorld();
    await live(t, 'one');
    await t.mutate(suspendApp);
    const halt = haltAt(halts, 'start', t);
    await t.mutate(resume);
    await halt.reached;
    expect(await codeOf(t.mutate(suspendApp))).toBe('deploy_in_progress');
    halt.go();
    await t.reaches((await t.rows())[0]!.id, 'live');
  });

  test('is rejected if it was built for another runtime, before anything changes', async () => {
    const t = await newWorld();
    const { id } = await live(t, 'one');
    await t.mutate(suspendApp);
    await sql`update svc.deployments set runtime = 'docker' where id = ${id}`.execute(database.db);
    expect(await codeOf(t.mutate(resume))).toBe('runtime_unsupported');
    expect(await t.rows()).toHaveLength(1);
  });

  test('leaves it suspended after a failure, and can be tried again', async () => {
    const t = await newWorld();
    const first = await live(t, 'one');
    await t.mutate(suspendApp);
    const start_with = { env: { FAIL: 'yes' }, health: { path: '/nowhere-else', timeoutMs: 300 } };
    const spoil = (value: unknown) =>
      sql`update svc.deployments set start_with = ${JSON.stringify(value)} where id = ${first.id}`.execute(
        database.db,
      );
    await spoil({ ...start_with, health: { path: '/end', timeoutMs: 500 } });
    await t.mutate(resume);
    expect(await t.reaches((await t.rows())[0]!.id, 'failed', 'live')).toMatchObject({ state: 'failed' });
    expect(await stored(t)).toMatchObject({ runtime: 'suspended' });
    expect((await t.row(first.id)).is_kept).toBe(true);
    await spoil({ env: {}, health: { path: null, timeoutMs: 10_000 } });
    await t.mutate(resume);
    await t.reaches((await t.rows())[0]!.id, 'live');
    expect(await t.responseText()).toBe('one');
  });

  test('is necessary after a reactivation, which starts nothing', async () => {
    const t = await newWorld();
    await live(t, 'one');
    await t.mutate(archiveApp);
    await stopped(t);
    await t.mutate(reactivateApp);
    expect(await stored(t)).toMatchObject({ record: 'active', runtime: 'suspended' });
    expect(await t.rows()).toHaveLength(1);
    await t.mutate(resume);
    await t.reaches((await t.rows())[0]!.id, 'live');
    expect(await t.responseText()).toBe('one');
  });
});

test('purging an app discards its artifacts and stops its instances', async () => {
  const t = await newWorld();
  const { artifact } = await live(t, 'one');
  await t.mutate(deleteApp);
  await t.mutate(purgeApp);
  await stopped(t);
  const { rows } = await sql<{ artifact: unknown }>`
    select payload -> 'artifact' as artifact from svc.outbox
    where topic = 'deployments.discard' and payload ->> 'app_id' = ${t.app.id}`.execute(database.db);
  expect(rows).toEqual([{ artifact }]);
});
