import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { sql } from 'kysely';
import { toldIn, whoWasTold } from '../notifications/testing.ts';
import { newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { queueDeployment } from './queue-deployment.ts';
import {
  type DeployingCopy,
  type DeployWorld,
  deployingCopy,
  deployWorld,
  nodeApp,
  passableFolder,
  removeFolder,
} from './testing.ts';

setDefaultTimeout(30_000);
let database: TestDatabase;
let copy: DeployingCopy;
const folder = passableFolder();
beforeAll(async () => {
  database = await testDatabase();
  copy = await deployingCopy(database, { dataDir: folder });
});
afterAll(async () => {
  await copy.stop();
  await database.close();
  removeFolder(folder);
});

const pushed = async (t: DeployWorld, source: string) => {
  const wish = { ...t.place, trigger: 'push', source: 'repository', ref: source, createdBy: null } as const;
  const { value } = await testMutation(database.db, t.owner, (ctx) => queueDeployment(ctx, wish), {
    context: { tenant: t.tenant },
  });
  return t.reaches(value.id, 'live', 'failed');
};

test('owners are told of a push that does not go live, and of nothing else', async () => {
  const t = await deployWorld(database);
  const coOwner = await newUser(database.db, t.tenant.id);
  await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
    values (${t.app.id}, ${coOwner.userId}, ${t.owner.userId}, now())`.execute(database.db);
  const broken = nodeApp(folder, 'two', { 'svc.yaml': 'build: exit 3\nstart: node server.cjs\n' });
  expect((await pushed(t, nodeApp(folder, 'one'))).state).toBe('live');
  expect((await t.reaches((await t.deploy(broken)).id, 'failed')).state).toBe('failed');
  expect(await toldIn(database.db, t.tenant)).toEqual([]);

  const failed = await pushed(t, broken);
  expect(failed.state).toBe('failed');
  expect(await whoWasTold(database.db, t.tenant, { owner: t.owner, coOwner })).toEqual([
    'deployment_failed: coOwner, owner',
  ]);
  const [told] = await toldIn(database.db, t.tenant);
  expect(told?.title).toBe(`Deployment ${t.app.slug} #${failed.seq} failed`);
  expect(told?.text).toContain(failed.failure_detail ?? 'a reason');
  expect(told?.path).toBe(`/t/${t.tenant.slug}/apps/${t.app.slug}/deployments/${failed.id}`);
});
