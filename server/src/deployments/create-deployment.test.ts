import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { codeOf, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { createDeployment, refuseMethod } from './create-deployment.ts';
import { getDeployment } from './get-deployment.ts';
import { listDeployments } from './list-deployments.ts';
import { rollbackDeployment } from './rollback-deployment.ts';
import { type DeployWorld, deployWorld, testPlaces } from './testing.ts';
import { type Wanted, wantedOf } from './wanted-of.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const context = (t: DeployWorld) => ({ tenant: { ...t.tenant, role: 'tenant_member' as const }, app: t.app });
const create = async (t: DeployWorld, input: Wanted, mode: 'preview' | 'execute' = 'execute') =>
  testMutation(database.db, t.owner, (ctx) => createDeployment(ctx, input, testPlaces), {
    context: context(t),
    mode,
  });
const upload = async (t: DeployWorld, arrived: Date | null = new Date()) => {
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.deployment_uploads (id, tenant_id, app_id, created_by, arrived_at, expires_at)
    values (${id}, ${t.tenant.id}, ${t.app.id}, ${t.owner.userId}, ${arrived}, now())`.execute(database.db);
  return id;
};
const reading = (t: DeployWorld) => {
  const { db } = database;
  const base = { db, now: new Date(), requestId: 'test', caller: t.owner };
  return { ...base, ...context(t) } as unknown as Parameters<typeof getDeployment>[0];
};

test('there is something to deploy only where a repository is connected or source has arrived for this very app', async () => {
  const [t, other] = [await deployWorld(database), await deployWorld(database)];
  expect(await codeOf(create(t, {}))).toBe('no_source');
  expect(await codeOf(create(t, { uploadId: await upload(t, null) }))).toBe('no_source');
  expect(await codeOf(create(t, { uploadId: await upload(other) }))).toBe('no_source');
  expect(await codeOf(create(t, { uploadId: await upload(t), ref: 'main' }))).toBe('validation_failed');
  expect(await t.rows()).toEqual([]);
  const { value } = await create(t, { uploadId: await upload(t) });
  expect(value).toMatchObject({ seq: 1, state: 'queued', source: 'upload', created_by: t.owner.userId });
});

test('of an app that is archived or suspended that is said first, whatever else is wrong', async () => {
  const t = await deployWorld(database, { method: 'compose' });
  const runtime = { refuses: async () => 'There is no Docker here.', kind: 'process' as const };
  const { id } = await t.deploy('anywhere');
  const codes = async () => [
    await codeOf(create(t, {})),
    await codeOf(create(t, { uploadId: await upload(t, null) })),
    await codeOf(create(t, { uploadId: await upload(t), ref: 'main' })),
    await codeOf(refuseMethod(reading(t), runtime)),
    await codeOf(
      testMutation(
        database.db,
        t.owner,
        (ctx) => rollbackDeployment(ctx, { id }, { ...testPlaces, runtime }),
        {
          context: context(t),
        },
      ),
    ),
  ];
  expect(await codes()).toEqual([
    ...['no_source', 'no_source', 'validation_failed', 'runtime_unsupported', 'not_rollback_target'],
  ]);
  await sql`update svc.apps set runtime = 'suspended' where id = ${t.app.id}`.execute(database.db);
  expect(new Set(await codes())).toEqual(new Set(['app_suspended']));
  await sql`update svc.apps set record = 'archived' where id = ${t.app.id}`.execute(database.db);
  expect(new Set(await codes())).toEqual(new Set(['app_not_active']));
});

test('a preview tells what would be made and what is skipped for it, and makes nothing', async () => {
  const t = await deployWorld(database);
  const first = await t.deploy('anywhere');
  const uploadId = await upload(t);
  const { result } = await create(t, { uploadId }, 'preview');
  const again = await create(t, { uploadId }, 'preview');
  if (result.kind !== 'previewed' || again.result.kind !== 'previewed') throw new Error('Not a preview.');
  expect(again.result.plan.fingerprint).toBe(result.plan.fingerprint);
  expect(result.plan.warnings).toEqual(['Deployment #1 still waits, and is skipped for this one.']);
  expect((await t.rows()).map(({ id, state }) => [id, state])).toEqual([[first.id, 'queued']]);
});

test('source that is yet to be sent has the plan of what is sent, and is taken by a preview alone', async () => {
  const t = await deployWorld(database);
  const executed = async () => wantedOf({ upload_pending: true }, { mode: 'execute' });
  expect(await codeOf(executed())).toBe('validation_failed');
  const [pending, sent] = [
    await create(t, wantedOf({ upload_pending: true }, { mode: 'preview' }), 'preview'),
    await create(t, { uploadId: await upload(t) }, 'preview'),
  ];
  if (pending.result.kind !== 'previewed' || sent.result.kind !== 'previewed')
    throw new Error('Not a preview.');
  expect(pending.result.plan).toEqual(sent.result.plan);
  expect(await codeOf(create(t, { uploadId: 'pending', ref: 'main' }, 'preview'))).toBe('validation_failed');
  await sql`update svc.apps set runtime = 'suspended' where id = ${t.app.id}`.execute(database.db);
  expect(await codeOf(create(t, { uploadId: 'pending' }, 'preview'))).toBe('app_suspended');
});

test('the newest comes first in the list, and a state can be asked for', async () => {
  const t = await deployWorld(database);
  const [first, second] = [await t.deploy('anywhere'), await t.deploy('anywhere')];
  const ctx = reading(t);
  const all = await listDeployments(ctx, { page: 1, per_page: 10 }, testPlaces);
  expect([all.total, all.items.map(({ seq }) => seq)]).toEqual([2, [2, 1]]);
  const queued = await listDeployments(ctx, { page: 1, per_page: 10, state: 'queued' }, testPlaces);
  expect([queued.total, queued.items.map(({ id }) => id)]).toEqual([1, [second.id]]);
  expect(await getDeployment(ctx, { id: first.id }, testPlaces)).toMatchObject({
    state: 'skipped',
    failure: null,
  });
  await sql`update svc.deployments set state = 'failed', failure_code = 'build_failed', failure_step = 'build',
    failure_detail = 'It ended with 3' where id = ${second.id}`.execute(database.db);
  expect((await getDeployment(ctx, { id: second.id }, testPlaces)).failure).toEqual({
    ...{ code: 'build_failed', step: 'build', detail: 'It ended with 3' },
    log_url: `${testPlaces.baseUrl}/api/v1/tenants/${t.tenant.id}/apps/${t.app.id}/deployments/${second.id}/logs`,
  });
  const foreign = await (await deployWorld(database)).deploy('anywhere');
  expect(await codeOf(getDeployment(ctx, { id: foreign.id }, testPlaces))).toBe('not_found');
});

test('a method that apps can not run by here is refused before anything is made', async () => {
  const runtime = {
    refuses: async ({ method }: { method: string }) => (method === 'compose' ? 'Not here.' : null),
  };
  for (const [method, code] of [
    ['compose', 'runtime_unsupported'],
    ['docker', 'done'],
  ] as const) {
    const t = await deployWorld(database, { method });
    expect(await codeOf(refuseMethod(reading(t), runtime))).toBe(code);
  }
});
