import { expect, test } from 'bun:test';
import { createTable as createShape } from '@svc/contract/tables.shapes.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { createTable } from '../../data/tables/tables.ts';
import { codeOf, testMutation, useTestDatabase } from '../../testing.ts';
import {
  createDeployment,
  getDeployment,
  listDeployments,
  requireSupportedMethod,
  rollbackDeployment,
} from './deployments.ts';
import { type DeploymentRequest, deploymentRequest } from './instances.ts';
import { type DeployWorld, newWorld, testUrls } from './testing.ts';

const database = useTestDatabase();

const create = async (t: DeployWorld, input: DeploymentRequest, mode: 'preview' | 'execute' = 'execute') =>
  testMutation(database.db, t.owner, (ctx) => createDeployment(ctx, input, testUrls), {
    context: t.context,
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
  return { ...base, ...t.context } as unknown as Parameters<typeof getDeployment>[0];
};

test('a deployment needs a connected repository or source that was uploaded for the same app', async () => {
  const [t, other] = [await newWorld(database), await newWorld(database)];
  expect(await codeOf(create(t, {}))).toBe('no_source');
  expect(await codeOf(create(t, { uploadId: await upload(t, null) }))).toBe('no_source');
  expect(await codeOf(create(t, { uploadId: await upload(other) }))).toBe('no_source');
  expect(await codeOf(create(t, { uploadId: await upload(t), ref: 'main' }))).toBe('validation_failed');
  expect(await t.rows()).toEqual([]);
  const { value } = await create(t, { uploadId: await upload(t) });
  expect(value).toMatchObject({ seq: 1, state: 'queued', source: 'upload', created_by: t.owner.userId });
});

test('a queued deployment has a position, in the order in which deployments start', async () => {
  const tenants = [await newWorld(database), await newWorld(database), await newWorld(database)] as const;
  const [busy, second, third] = tenants;
  // Tenants with fewer running deployments go first, so the oldest one starts last.
  const running = await newApp(database.db, busy.tenant, busy.owner);
  const rows = [
    await busy.deploy('anywhere'),
    await second.deploy('anywhere'),
    await third.deploy('anywhere'),
  ];
  const order = async () => {
    const found = await Promise.all(tenants.map((t, at) => getDeployment(reading(t), rows[at]!, testUrls)));
    const positions = found.map(({ queue_position: position }) => position);
    const queued = positions.filter((position) => position !== null).sort((a, b) => a - b);
    return positions.map((position) => position && queued.indexOf(position));
  };
  expect(await order()).toEqual([0, 1, 2]);
  await sql`insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at)
    values (${Bun.randomUUIDv7()}, ${busy.tenant.id}, ${running.id}, 1, 'deploy', 'person', 'building', 'docker', 'upload', now())`.execute(
    database.db,
  );
  expect(await order()).toEqual([2, 0, 1]);
  const { items } = await listDeployments(reading(third), { page: 1, per_page: 10 }, testUrls);
  expect(items[0]?.queue_position).toBeGreaterThan(0);
  await sql`update svc.deployments set state = 'building' where id = ${rows[1]!.id}`.execute(database.db);
  expect(await order()).toEqual([1, null, 0]);
});

test('an archived or suspended app is reported before other errors', async () => {
  const t = await newWorld(database, 'compose');
  const runtime = { refuses: async () => 'There is no Docker here.', kind: 'process' as const };
  const { id } = await t.deploy('anywhere');
  const codes = async () => [
    await codeOf(create(t, {})),
    await codeOf(create(t, { uploadId: await upload(t, null) })),
    await codeOf(create(t, { uploadId: await upload(t), ref: 'main' })),
    await codeOf(requireSupportedMethod(reading(t), runtime)),
    await codeOf(t.mutate((ctx) => rollbackDeployment(ctx, { id }, { ...testUrls, runtime }))),
  ];
  expect(await codes()).toEqual([
    'no_source',
    'no_source',
    'validation_failed',
    'runtime_unsupported',
    'not_rollback_target',
  ]);
  await sql`update svc.apps set runtime = 'suspended' where id = ${t.app.id}`.execute(database.db);
  expect(new Set(await codes())).toEqual(new Set(['app_suspended']));
  await sql`update svc.apps set record = 'archived' where id = ${t.app.id}`.execute(database.db);
  expect(new Set(await codes())).toEqual(new Set(['app_not_active']));
});

test('a preview shows what would be created and skipped, and changes nothing', async () => {
  const t = await newWorld(database);
  const first = await t.deploy('anywhere');
  const uploadId = await upload(t);
  const { result } = await create(t, { uploadId }, 'preview');
  const again = await create(t, { uploadId }, 'preview');
  if (result.kind !== 'previewed' || again.result.kind !== 'previewed') throw new Error('Not a preview.');
  expect(again.result.plan.fingerprint).toBe(result.plan.fingerprint);
  expect(result.plan.warnings).toEqual(['Deployment #1 was still queued and is skipped.']);
  expect((await t.rows()).map(({ id, state }) => [id, state])).toEqual([[first.id, 'queued']]);
});

test('a deployment that may lose values of tables has an irreversible plan', async () => {
  const t = await newWorld(database);
  const uploadId = await upload(t);
  const plan = async (body: object) => {
    const request = deploymentRequest({ upload_id: uploadId, ...body }, { mode: 'preview' });
    const { result } = await create(t, request, 'preview');
    if (result.kind !== 'previewed') throw new Error('Not a preview.');
    return [result.plan.irreversible, result.plan.warnings];
  };
  const both = { prune: true, allow_destructive: true };
  expect(await plan(both)).toEqual([false, []]);
  await testMutation(
    database.db,
    t.owner,
    (ctx) => createTable(ctx, createShape.body.parse({ name: 'orders', columns: ['state:text'] })),
    { context: t.context, rows: database.rows },
  );
  for (const body of [{}, { prune: true }]) expect(await plan(body)).toEqual([false, []]);
  expect(await plan(both)).toEqual([true, [expect.stringContaining('svc apply --app')]]);
  expect(await plan({ allow_destructive: true })).toEqual([true, [expect.stringContaining('svc apply')]]);
});

test('source that is not uploaded yet has the same plan, and only a preview accepts it', async () => {
  const t = await newWorld(database);
  const executed = async () => deploymentRequest({ upload_pending: true }, { mode: 'execute' });
  expect(await codeOf(executed())).toBe('validation_failed');
  const [pending, sent] = [
    await create(t, deploymentRequest({ upload_pending: true }, { mode: 'preview' }), 'preview'),
    await create(t, { uploadId: await upload(t) }, 'preview'),
  ];
  if (pending.result.kind !== 'previewed' || sent.result.kind !== 'previewed')
    throw new Error('Not a preview.');
  expect(pending.result.plan).toEqual(sent.result.plan);
  expect(await codeOf(create(t, { uploadId: 'pending', ref: 'main' }, 'preview'))).toBe('validation_failed');
  await sql`update svc.apps set runtime = 'suspended' where id = ${t.app.id}`.execute(database.db);
  expect(await codeOf(create(t, { uploadId: 'pending' }, 'preview'))).toBe('app_suspended');
});

test('the list starts with the newest and can be filtered by state', async () => {
  const t = await newWorld(database);
  const [first, second] = [await t.deploy('anywhere'), await t.deploy('anywhere')];
  const ctx = reading(t);
  const all = await listDeployments(ctx, { page: 1, per_page: 10 }, testUrls);
  expect([all.total, all.items.map(({ seq }) => seq)]).toEqual([2, [2, 1]]);
  const queued = await listDeployments(ctx, { page: 1, per_page: 10, state: 'queued' }, testUrls);
  expect([queued.total, queued.items.map(({ id }) => id)]).toEqual([1, [second.id]]);
  expect(await getDeployment(ctx, { id: first.id }, testUrls)).toMatchObject({
    state: 'skipped',
    failure: null,
  });
  await sql`update svc.deployments set state = 'failed', failure_code = 'build_failed', failure_step = 'build',
    failure_detail = 'It ended with 3' where id = ${second.id}`.execute(database.db);
  expect((await getDeployment(ctx, { id: second.id }, testUrls)).failure).toEqual({
    code: 'build_failed',
    step: 'build',
    detail: 'It ended with 3',
    log_url: `${testUrls.baseUrl}/api/v1/tenants/${t.tenant.id}/apps/${t.app.id}/deployments/${second.id}/logs`,
  });
  const foreign = await (await newWorld(database)).deploy('anywhere');
  expect(await codeOf(getDeployment(ctx, { id: foreign.id }, testUrls))).toBe('not_found');
});

test('a method that the runtime does not support is rejected before anything is created', async () => {
  const runtime = {
    refuses: async ({ method }: { method: string }) => (method === 'compose' ? 'Not here.' : null),
  };
  for (const [method, code] of [
    ['compose', 'runtime_unsupported'],
    ['docker', 'done'],
  ] as const) {
    const t = await newWorld(database, method);
    expect(await codeOf(requireSupportedMethod(reading(t), runtime))).toBe(code);
  }
});
