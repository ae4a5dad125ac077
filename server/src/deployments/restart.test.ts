import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { liveInstancesOf } from './live-instances.ts';
import {
  type DeployingCopy,
  deployingCopy,
  deployWorld,
  nodeApp,
  passableFolder,
  removeFolder,
  until,
} from './testing.ts';

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

/** Started again, it takes its time before it listens. */
const slowAgain = `const { existsSync, writeFileSync } = require('fs');
const mark = process.env.HOME + '/ended';
const server = require('http').createServer((request, response) => {
  if (request.url === '/end') { writeFileSync(mark, ''); process.exit(1); }
  response.end('here');
});
setTimeout(() => server.listen(process.env.PORT, '127.0.0.1'), existsSync(mark) ? 2000 : 0);`;

test('nobody is led to an instance that has ended, at once, until it answers again', async () => {
  const t = await deployWorld(database);
  const { id } = await t.deploy(nodeApp(folder, 'here', { 'server.cjs': slowAgain }));
  await t.reaches(id, 'live');
  const addresses = async () => (await liveInstancesOf(database.db, t.app.id))?.addresses ?? [];
  const [address] = await addresses();
  await fetch(`http://${address}/end`).catch(() => {});
  const begun = performance.now();
  await until(addresses, (all) => all.length === 0);
  expect(performance.now() - begun).toBeLessThan(2_000);
  await until(addresses, (all) => all.length === 1);
  expect(await t.says()).toBe('here');
  // The same instance, and no second one beside it.
  expect(await copy.runtime.list()).toHaveLength(1);
});
