import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { changeEnv } from '../app-env/change-env.ts';
import { archiveApp } from '../apps/archive-app.ts';
import { deleteApp } from '../apps/delete-app.ts';
import { purgeApp } from '../apps/purge-app.ts';
import { reactivateApp } from '../apps/reactivate-app.ts';
import { resumeApp } from '../apps/resume-app.ts';
import { suspendApp } from '../apps/suspend-app.ts';
import type { AppMutationCtx, MutationCtx } from '../plumbing/context.ts';
import { codeOf, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import {
  type DeployingCopy,
  type DeployWorld,
  deployingCopy,
  deployWorld,
  type Halts,
  haltAt,
  nodeApp,
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

const as = (t: DeployWorld) => ({
  ...{
    context: { tenant: { ...t.tenant, role: 'tenant_member' as const }, app: t.app },
    rows: database.rows,
  },
});
const move = async <T>(t: DeployWorld, verb: (ctx: AppMutationCtx) => Promise<T>) =>
  (
    await testMutation(
      database.db,
      t.owner,
      (ctx: MutationCtx & ReturnType<typeof as>['context']) => verb(ctx),
      as(t),
    )
  ).value;
const live = async (t: DeployWorld, says: string) =>
  t.reaches((await t.deploy(nodeApp(folder, says))).id, 'live');
const running = (t: DeployWorld) => async () =>
  (await copy.runtime.list()).filter(({ appId }) => appId === t.app.id).length;
const stored = async (t: DeployWorld) =>
  (
    await sql<{
      record: string;
      runtime: string;
    }>`select record, runtime from svc.apps where id = ${t.app.id}`.execute(database.db)
  ).rows[0];

const resume = (ctx: AppMutationCtx) => resumeApp(ctx, copy.runtime);
const moves = { suspend: suspendApp, archive: archiveApp, delete: deleteApp };

describe.each(['suspend', 'archive', 'delete'] as const)('to %s an app', (name) => {
  test('stops what runs', async () => {
    const t = await deployWorld(database);
    await live(t, 'one');
    await move(t, moves[name]);
    expect(await t.says()).toBeNull();
    await until(running(t), (count) => count === 0);
    expect((await t.rows())[0]?.state).toBe('live');
  });

  test('cancels what waits and what is built', async () => {
    const t = await deployWorld(database);
    await live(t, 'one');
    const stopped = haltAt(halts, 'build', t);
    const building = await t.deploy(nodeApp(folder, 'two'));
    await stopped.reached;
    const waiting = await t.deploy(nodeApp(folder, 'three'));
    await move(t, moves[name]);
    expect((await t.row(waiting.id)).state).toBe('canceled');
    await t.reaches(building.id, 'canceled');
    stopped.go();
    await until(running(t), (count) => count === 0);
  });

  test('is refused while a deployment is released, which then goes live', async () => {
    const t = await deployWorld(database);
    await live(t, 'one');
    const stopped = haltAt(halts, 'started', t);
    const releasing = await t.deploy(nodeApp(folder, 'two'));
    await stopped.reached;
    const before = await stored(t);
    expect(await codeOf(move(t, moves[name]))).toBe('deploy_in_progress');
    expect(await stored(t)).toEqual(before);
    stopped.go();
    await t.reaches(releasing.id, 'live');
    expect(await t.says()).toBe('two');
  });
});

describe('to resume an app', () => {
  test('deploys again what was live, with the variables of now, and it runs only when that is live', async () => {
    const t = await deployWorld(database);
    const first = await live(t, 'one');
    await move(t, suspendApp);
    await until(running(t), (count) => count === 0);
    await move(t, (ctx) => changeEnv(ctx, { set: { GREETING: 'since then' }, unset: [] }, testPlaces));
    const stopped = haltAt(halts, 'start', t);
    expect(await move(t, resume)).toMatchObject({ runtime: 'suspended' });
    expect(await move(t, resume)).toMatchObject({ runtime: 'suspended', changed: false });
    await stopped.reached;
    expect(await stored(t)).toMatchObject({ runtime: 'suspended' });
    stopped.go();
    const row = (await t.rows())[0]!;
    expect(row).toMatchObject({ seq: 2, kind: 'resume', trigger: 'resume', digest: first.digest });
    await t.reaches(row.id, 'live');
    expect(await stored(t)).toMatchObject({ runtime: 'running' });
    expect(JSON.parse((await t.says('/env')) ?? '{}')).toMatchObject({ GREETING: 'since then' });
    expect((await t.row(first.id)).state).toBe('superseded');
  });

  test('and to suspend it meanwhile leaves it suspended', async () => {
    const t = await deployWorld(database);
    await live(t, 'one');
    await move(t, suspendApp);
    // Nobody is there to begin with it.
    await copy.stop();
    await move(t, resume);
    expect(await move(t, suspendApp)).not.toHaveProperty('changed');
    expect((await t.rows())[0]).toMatchObject({ kind: 'resume', state: 'canceled', is_kept: false });
    expect(await move(t, suspendApp)).toMatchObject({ changed: false, runtime: 'suspended' });
    copy = await deployingCopy(database, { dataDir: folder, halts });
    expect(await stored(t)).toMatchObject({ runtime: 'suspended' });
  });

  test('is refused to be suspended while that is being released', async () => {
    const t = await deployWorld(database);
    await live(t, 'one');
    await move(t, suspendApp);
    const stopped = haltAt(halts, 'start', t);
    await move(t, resume);
    await stopped.reached;
    expect(await codeOf(move(t, suspendApp))).toBe('deploy_in_progress');
    stopped.go();
    await t.reaches((await t.rows())[0]!.id, 'live');
  });

  test('that ran on another runtime is refused, before anything is changed', async () => {
    const t = await deployWorld(database);
    const { id } = await live(t, 'one');
    await move(t, suspendApp);
    await sql`update svc.deployments set runtime = 'docker' where id = ${id}`.execute(database.db);
    expect(await codeOf(move(t, resume))).toBe('runtime_unsupported');
    expect(await t.rows()).toHaveLength(1);
  });

  test('that fails leaves it suspended, and can be tried again', async () => {
    const t = await deployWorld(database);
    const first = await live(t, 'one');
    await move(t, suspendApp);
    const start_with = { env: { FAIL: 'yes' }, health: { path: '/nowhere-else', timeoutMs: 300 } };
    const spoil = (value: unknown) =>
      sql`update svc.deployments set start_with = ${JSON.stringify(value)} where id = ${first.id}`.execute(
        database.db,
      );
    await spoil({ ...start_with, health: { path: '/end', timeoutMs: 500 } });
    await move(t, resume);
    expect(await t.reaches((await t.rows())[0]!.id, 'failed', 'live')).toMatchObject({ state: 'failed' });
    expect(await stored(t)).toMatchObject({ runtime: 'suspended' });
    expect((await t.row(first.id)).is_kept).toBe(true);
    await spoil({ env: {}, health: { path: null, timeoutMs: 10_000 } });
    await move(t, resume);
    await t.reaches((await t.rows())[0]!.id, 'live');
    expect(await t.says()).toBe('one');
  });

  test('is for after a reactivation, which by itself starts nothing', async () => {
    const t = await deployWorld(database);
    await live(t, 'one');
    await move(t, archiveApp);
    await until(running(t), (count) => count === 0);
    await move(t, reactivateApp);
    expect(await stored(t)).toMatchObject({ record: 'active', runtime: 'suspended' });
    expect(await t.rows()).toHaveLength(1);
    await move(t, resume);
    await t.reaches((await t.rows())[0]!.id, 'live');
    expect(await t.says()).toBe('one');
  });
});

test('to purge an app removes what it built, and nothing of it runs', async () => {
  const t = await deployWorld(database);
  const { artifact } = await live(t, 'one');
  await move(t, deleteApp);
  await move(t, purgeApp);
  await until(running(t), (count) => count === 0);
  const { rows } = await sql<{ artifact: unknown }>`
    select payload -> 'artifact' as artifact from svc.outbox
    where topic = 'deployments.discard' and payload ->> 'app_id' = ${t.app.id}`.execute(database.db);
  expect(rows).toEqual([{ artifact }]);
});
