import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { codeOf, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { createDeployment, refuseMethod } from './create-deployment.ts';
import { getDeployment } from './get-deployment.ts';
import { listDeployments } from './list-deployments.ts';
import { type DeployWorld, deployWorld, testPlaces } from './testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const context = (t: DeployWorld) => ({ tenant: { ...t.tenant, role: 'tenant_member' as const }, app: t.app });
const create = async (
  t: DeployWorld,
  input: { ref?: string; uploadId?: string },
  mode: 'preview' | 'execute' = 'execute',
) =>
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
