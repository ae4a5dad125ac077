import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../testing.ts';
import {
  type DeployingCopy,
  deployingCopy,
  deployWorld,
  type Halts,
  haltAt,
  nodeApp,
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
const halt = (...of: Parameters<typeof haltAt>) => {
  const stuck = haltAt(...of);
  halted.push(stuck.go);
  return stuck;
};
/** Listens, and is never well. */
const unwell = () =>
  nodeApp(folder, 'never', {
    'svc.yaml': 'start: node server.cjs\nhealth: { path: /, timeout: 10m }\n',
    'server.cjs': `require('http').createServer((_, r) => { r.statusCode = 503; r.end(); }).listen(process.env.PORT)`,
  });

test('apps that never become well keep nobody else from being deployed', async () => {
  await newCopy({ atOnceMax: { builds: 1, all: 4 } });
  const bad = [await deployWorld(database), await deployWorld(database)];
  for (const t of bad) await t.reaches((await t.deploy(unwell())).id, 'releasing');
  const innocent = await deployWorld(database);
  await innocent.reaches((await innocent.deploy(nodeApp(folder, 'innocent'))).id, 'live');
  expect(await innocent.says()).toBe('innocent');
  for (const t of bad) expect((await t.rows())[0]?.state).toBe('releasing');
});

test('a release that takes too long fails by that, and frees the app', async () => {
  const copy = await newCopy({ releaseMsMax: () => 1_500 });
  const t = await deployWorld(database);
  const { id } = await t.deploy(unwell());
  expect(await t.reaches(id, 'failed', 'live')).toMatchObject({
    ...{ state: 'failed', failure_code: 'release_timeout', is_kept: false },
  });
  await until(
    async () => (await copy.runtime.list()).filter(({ appId }) => appId === t.app.id).length,
    (running) => running === 0,
  );
  await t.reaches((await t.deploy(nodeApp(folder, 'next'))).id, 'live');
});

test('a runtime that never comes back from a start holds nothing up without end', async () => {
  const halts: Halts = {};
  await newCopy({ halts, releaseMsMax: () => 1_500 });
  const t = await deployWorld(database);
  const stuck = halt(halts, 'start', t, { onAbort: 'hangs' });
  const { id } = await t.deploy(nodeApp(folder, 'one'));
  await stuck.reached;
  expect(await t.reaches(id, 'failed', 'live')).toMatchObject({
    ...{ state: 'failed', failure_code: 'release_timeout', failure_step: 'start' },
  });
});

test('a runtime that can not end an instance keeps no deployment open', async () => {
  const copy = await newCopy({ releaseMsMax: () => 1_500 });
  const { stop } = copy.parts.runtime;
  let refused = 0;
  copy.parts.runtime.stop = async () => {
    refused++;
    throw new Error('The engine is away.');
  };
  const t = await deployWorld(database);
  const { id } = await t.deploy(unwell());
  expect(await t.reaches(id, 'failed', 'live')).toMatchObject({ state: 'failed', attempts: 1 });
  expect(refused).toBeGreaterThan(0);
  copy.parts.runtime.stop = stop;
  await until(
    async () => (await copy.runtime.list()).filter(({ appId }) => appId === t.app.id).length,
    (running) => running === 0,
  );
  const { rows } = await sql`select from svc.app_instances where app_id = ${t.app.id}`.execute(database.db);
  expect(rows).toEqual([]);
});

test('of tenants that wait, who has nothing under way goes first', async () => {
  const halts: Halts = {};
  await newCopy({ halts, atOnceMax: { builds: 2, all: 10 } });
  const [mine, yours] = [await deployWorld(database), await deployWorld(database)];
  const others = await deployWorld(database);
  // All places are taken; another app of one of these tenants waits, and then one of somebody else's.
  const stuck = [halt(halts, 'build', mine), halt(halts, 'build', others)];
  await mine.deploy(nodeApp(folder, 'a'));
  await others.deploy(nodeApp(folder, 'b'));
  for (const { reached } of stuck) await reached;
  const third = await deployWorld(database);
  await sql`update svc.apps set tenant_id = ${mine.tenant.id} where id = ${third.app.id}`.execute(
    database.db,
  );
  Object.assign(third.place, { tenantId: mine.tenant.id });
  const inFetch = [halt(halts, 'fetch', third), halt(halts, 'fetch', yours)];
  const later = await third.deploy(nodeApp(folder, 'c'));
  const first = await yours.deploy(nodeApp(folder, 'd'));
  stuck[1]?.go();
  await inFetch[1]?.reached;
  expect((await third.row(later.id)).state).toBe('queued');
  expect((await yours.row(first.id)).state).toBe('building');
});
