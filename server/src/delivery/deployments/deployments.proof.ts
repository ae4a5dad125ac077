import { describe, expect, test } from 'bun:test';
import { retainedArtifactsMax } from '@svc/contract/deployments.ts';
import { sql } from 'kysely';
import { codeOf } from '../../testing.ts';
import { changeEnv } from '../env/env.ts';
import { until } from '../testing.ts';
import { cancelDeployment, restartApp, rollbackDeployment } from './deployments.ts';
import { type DeployWorld, haltAt, testUrls, useDeployments } from './testing.ts';

const { database, server, halts, newWorld, nodeApp } = useDeployments();

const rollback = (t: DeployWorld, id: string) => t.mutate((ctx) => rollbackDeployment(ctx, { id }, testUrls));
const cancel = (t: DeployWorld, id: string) => t.mutate((ctx) => cancelDeployment(ctx, { id }, testUrls));
const setEnv = (t: DeployWorld, set: Record<string, string>) =>
  t.mutate((ctx) => changeEnv(ctx, { set, unset: [], environment: 'production' }, testUrls));
const envOf = async (t: DeployWorld) =>
  JSON.parse((await t.responseText('/env')) ?? '{}') as Record<string, string>;
const set = (t: DeployWorld, columns: { record?: string; runtime?: string }) =>
  sql`update svc.apps set record = coalesce(${columns.record ?? null}, record),
    runtime = coalesce(${columns.runtime ?? null}, runtime) where id = ${t.app.id}`.execute(database.db);

describe('a deployment', () => {
  test('goes live, and the next one replaces it', async () => {
    const t = await newWorld();
    const first = await t.deploy(nodeApp('one'));
    expect(first).toMatchObject({ seq: 1, state: 'queued', kind: 'deploy' });
    expect(await t.reaches(first.id, 'live', 'failed')).toMatchObject({ state: 'live', is_kept: true });
    expect(await t.responseText()).toBe('one');
    const second = await t.live(nodeApp('two'));
    expect(await t.responseText()).toBe('two');
    expect(second).toMatchObject({ seq: 2, state: 'live', commit_sha: 'c'.repeat(40), runtime: 'process' });
    expect((await t.row(first.id)).state).toBe('superseded');
    await until(async () => (await t.instances(server)).length === 1);
    const { rows } = await sql<{ action: string }>`
      select action from svc.audit_entries where target_id = ${second.id} order by seq`.execute(database.db);
    expect(rows.map(({ action }) => action)).toEqual(['deployments.create', 'deployments.live']);
  });

  test('gets the variables of the platform and the owners, and a rollback uses the same', async () => {
    const t = await newWorld();
    await setEnv(t, { GREETING: 'first value' });
    const first = await t.live(nodeApp('one'));
    expect(await envOf(t)).toMatchObject({
      GREETING: 'first value',
      SVC_APP_ID: t.app.id,
      SVC_DEPLOYMENT_ID: first.id,
    });
    await setEnv(t, { GREETING: 'second value' });
    await t.live(nodeApp('two'));
    expect(await envOf(t)).toMatchObject({ GREETING: 'second value' });
    const back = await rollback(t, first.id);
    expect(back).toMatchObject({ seq: 3, kind: 'rollback', rollback_of: first.id, digest: first.digest });
    await t.reaches(back.id, 'live');
    expect(await t.responseText()).toBe('one');
    expect(await envOf(t)).toMatchObject({ GREETING: 'first value', SVC_DEPLOYMENT_ID: back.id });
  });

  test('that cannot be built does not replace the live one', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const broken = nodeApp('two', {
      'svc.yaml': 'build: echo no luck; exit 3\nstart: node server.cjs\n',
    });
    const failed = await t.live(broken);
    expect(failed).toMatchObject({ state: 'failed', failure_code: 'build_failed', failure_step: 'build' });
    expect(failed).toMatchObject({ is_kept: false, artifact: null });
    expect(await t.responseText()).toBe('one');
    const lines = async () =>
      (
        await sql<{ text: string }>`
          select text from svc.log_lines where deployment_id = ${failed.id} and source = 'build'`.execute(
          database.db,
        )
      ).rows.map(({ text }) => text);
    await until(lines, (texts) => texts.includes('no luck'));
  });

  test.each([
    [
      'responds with errors',
      `require('http').createServer((_, r) => { r.statusCode = 500; r.end(); }).listen(process.env.PORT)`,
    ],
    ['exits by itself', 'process.exit(3)'],
    ['never listens', 'setInterval(() => {}, 1000)'],
  ])('that %s does not replace the live one', async (_, script) => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const yaml = 'start: node server.cjs\nhealth: { path: /, timeout: 1s }\n';
    const failed = await t.live(nodeApp('two', { 'server.cjs': script, 'svc.yaml': yaml }));
    expect(failed).toMatchObject({
      state: 'failed',
      failure_code: 'health_check_failed',
      failure_step: 'health',
    });
    expect(failed.is_kept).toBe(false);
    expect(await t.responseText()).toBe('one');
    const { rows } = await sql`select from svc.app_instances where deployment_id = ${failed.id}`.execute(
      database.db,
    );
    expect(rows).toHaveLength(0);
    expect((await server.runtime.list()).filter(({ deploymentId }) => deploymentId === failed.id)).toEqual(
      [],
    );
  });

  test('stores no variables after it failed', async () => {
    const t = await newWorld();
    await setEnv(t, { GREETING: 'first value' });
    const failed = await t.live(nodeApp('one', { 'svc.yaml': 'build: exit 3\nstart: node server.cjs\n' }));
    expect(failed).toMatchObject({ state: 'failed', env_sealed: null });
  });

  test('enables storage if svc.yaml requires it, as the platform', async () => {
    const t = await newWorld();
    const yaml = 'start: node server.cjs\nstorage: { enabled: true }\n';
    await t.live(nodeApp('one', { 'svc.yaml': yaml }));
    expect(await envOf(t)).toHaveProperty('SVC_STORAGE_URL');
    await t.live(nodeApp('two', { 'svc.yaml': yaml }));
    const { rows } = await sql`
      select actor_kind from svc.audit_entries
      where action = 'storage.enable' and app_id = ${t.app.id}`.execute(database.db);
    expect(rows).toEqual([{ actor_kind: 'operator' }]);
  });

  test('fails if the source does not define how it runs', async () => {
    const t = await newWorld();
    const failed = await t.live(nodeApp('one', { 'svc.yaml': 'nothing: known\n' }));
    expect(failed).toMatchObject({ state: 'failed', failure_step: 'detect' });
    expect(await t.responseText()).toBeNull();
  });

  test('is rejected for an archived or suspended app', async () => {
    const t = await newWorld();
    await set(t, { runtime: 'suspended' });
    expect(await codeOf(t.deploy(nodeApp('one')))).toBe('app_suspended');
    await set(t, { record: 'archived' });
    expect(await codeOf(t.deploy(nodeApp('one')))).toBe('app_not_active');
    expect(await t.rows()).toEqual([]);
  });
});

describe('many concurrent deployments', () => {
  test('the newest is live, the others are skipped or superseded, and none runs twice', async () => {
    const t = await newWorld();
    const source = nodeApp('many');
    await Promise.all(Array.from({ length: 50 }, () => t.deploy(source)));
    const newest = (await t.rows())[0]!;
    expect(newest.seq).toBe(50);
    await t.reaches(newest.id, 'live');
    const rows = await t.rows();
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, at) => 50 - at));
    expect(rows.filter(({ state }) => state === 'live')).toHaveLength(1);
    expect(rows.filter(({ state }) => !['live', 'skipped', 'superseded'].includes(state))).toEqual([]);
    expect(rows.filter(({ attempts }) => attempts > 1)).toEqual([]);
    const { rows: instances } = await sql`
      select from svc.app_instances where app_id = ${t.app.id} and state = 'ready'`.execute(database.db);
    expect(instances).toHaveLength(1);
  });
});

describe('canceling', () => {
  test('ends a queued deployment at once and a building one soon; the live one stays', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const stopped = haltAt(halts, 'build', t);
    const building = await t.deploy(nodeApp('two'));
    await stopped.reached;
    const waiting = await t.deploy(nodeApp('three'));
    expect(await cancel(t, waiting.id)).toMatchObject({ state: 'canceled' });
    expect(await cancel(t, waiting.id)).toMatchObject({ state: 'canceled', changed: false });
    expect(await cancel(t, building.id)).toMatchObject({ state: 'building' });
    expect(await t.reaches(building.id, 'canceled')).toMatchObject({ is_kept: false });
    expect(await t.responseText()).toBe('one');
    stopped.go();
  });

  test('is rejected during a release and after the end', async () => {
    const t = await newWorld();
    const stopped = haltAt(halts, 'start', t);
    const row = await t.deploy(nodeApp('one'));
    await stopped.reached;
    expect((await t.row(row.id)).state).toBe('releasing');
    expect(await codeOf(cancel(t, row.id))).toBe('not_cancelable');
    stopped.go();
    await t.reaches(row.id, 'live');
    expect(await codeOf(cancel(t, row.id))).toBe('not_cancelable');
    expect(await codeOf(cancel(t, Bun.randomUUIDv7()))).toBe('not_found');
  });
});

describe('restarting', () => {
  test('starts the live build again, with the current variables', async () => {
    const t = await newWorld();
    await setEnv(t, { GREETING: 'first value' });
    const first = await t.live(nodeApp('one'));
    await setEnv(t, { GREETING: 'second value' });
    const again = await t.mutate((ctx) => restartApp(ctx, testUrls));
    expect(await t.reaches(again.id, 'live', 'failed')).toMatchObject({
      state: 'live',
      kind: 'restart',
      source: 'artifact',
      digest: first.digest,
    });
    expect(await envOf(t)).toMatchObject({ GREETING: 'second value' });
    expect(await t.responseText()).toBe('one');
  });

  test('is refused where nothing is deployed, and while the app is suspended', async () => {
    const t = await newWorld();
    const restart = () => codeOf(t.mutate((ctx) => restartApp(ctx, testUrls)));
    expect(await restart()).toBe('nothing_deployed');
    await set(t, { runtime: 'suspended' });
    expect(await restart()).toBe('app_suspended');
  });
});

describe('rolling back', () => {
  test('is rejected to a live, failed or expired deployment and to one of another app', async () => {
    const [t, other] = [await newWorld(), await newWorld()];
    const first = await t.live(nodeApp('one'));
    expect(await codeOf(rollback(t, first.id))).toBe('not_rollback_target');
    const failed = await t.live(nodeApp('two', { 'svc.yaml': 'build: exit 1\nstart: node server.cjs\n' }));
    expect(await codeOf(rollback(t, failed.id))).toBe('not_rollback_target');
    expect(await codeOf(rollback(other, first.id))).toBe('not_found');
    await t.live(nodeApp('three'));
    await sql`update svc.deployments set is_kept = false where id = ${first.id}`.execute(database.db);
    expect(await codeOf(rollback(t, first.id))).toBe('artifact_expired');
  });

  test('stays possible after any number of canceled rollbacks', async () => {
    const t = await newWorld();
    await setEnv(t, { GREETING: 'first value' });
    const first = await t.live(nodeApp('one'));
    await t.live(nodeApp('two'));
    const stopped = haltAt(halts, 'build', t);
    const building = await t.deploy(nodeApp('three'));
    await stopped.reached;
    const ended: string[] = [];
    for (let at = 0; at < retainedArtifactsMax; at++) ended.push((await rollback(t, first.id)).id);
    await cancel(t, ended.at(-1)!);
    stopped.go();
    await t.reaches(building.id, 'live', 'failed');
    expect((await t.row(first.id)).is_kept).toBe(true);
    for (const id of ended) expect(await t.row(id)).toMatchObject({ is_kept: false, env_sealed: null });
    await t.reaches((await rollback(t, first.id)).id, 'live');
    expect(await t.responseText()).toBe('one');
  });

  test('is rejected to a deployment of another runtime, before anything changes', async () => {
    const t = await newWorld();
    const first = await t.live(nodeApp('one'));
    await t.live(nodeApp('two'));
    await sql`update svc.deployments set runtime = 'docker' where id = ${first.id}`.execute(database.db);
    expect(await codeOf(rollback(t, first.id))).toBe('runtime_unsupported');
    expect(await t.rows()).toHaveLength(2);
  });

  test('is possible to the newest that were live; older artifacts are removed', async () => {
    const t = await newWorld();
    const first = await t.live(nodeApp('one'));
    await sql`
      insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, runtime, artifact,
        is_kept, created_at, live_at, ended_at)
      select gen_random_uuid(), tenant_id, app_id, n, kind, trigger, 'superseded', method, source, runtime,
        jsonb_build_object('n', n), true, created_at, live_at, ended_at
      from svc.deployments, generate_series(2, ${retainedArtifactsMax + 1}) n where id = ${first.id}`.execute(
      database.db,
    );
    await sql`update svc.apps set deployments_made = ${retainedArtifactsMax + 1} where id = ${t.app.id}`.execute(
      database.db,
    );
    await t.live(nodeApp('newest'));
    expect((await t.row(first.id)).is_kept).toBe(false);
    expect((await t.rows()).filter(({ is_kept }) => is_kept)).toHaveLength(retainedArtifactsMax + 1);
    const { rows } = await sql<{ artifact: unknown }>`
      select payload -> 'artifact' as artifact from svc.outbox
      where topic = 'deployments.discard' and payload ->> 'app_id' = ${t.app.id}`.execute(database.db);
    expect(rows).toEqual([{ artifact: first.artifact }]);
  });
});
