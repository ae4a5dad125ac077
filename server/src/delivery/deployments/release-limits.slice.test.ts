import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { until } from '../testing.ts';
import { type Halts, useDeployments } from './testing.ts';

const { database, newWorld, start, halt, nodeApp } = useDeployments({ servers: 'per test' });

/** An app that listens and is never healthy. */
const unwell = () =>
  nodeApp('never', {
    'svc.yaml': 'start: node server.cjs\nhealth: { path: /, timeout: 10m }\n',
    'server.cjs': `require('http').createServer((_, r) => { r.statusCode = 503; r.end(); }).listen(process.env.PORT)`,
  });

test('apps that never become healthy do not block other deployments', async () => {
  await start({ concurrencyMax: { builds: 1, all: 4 } });
  const bad = [await newWorld(), await newWorld()];
  for (const t of bad) await t.reaches((await t.deploy(unwell())).id, 'releasing');
  const innocent = await newWorld();
  await innocent.live(nodeApp('innocent'));
  expect(await innocent.responseText()).toBe('innocent');
  for (const t of bad) expect((await t.rows())[0]?.state).toBe('releasing');
});

test('a release that takes too long fails and unblocks the app', async () => {
  const server = await start({ releaseMsMax: () => patientMs(500) });
  const t = await newWorld();
  const { id } = await t.deploy(unwell());
  expect(await t.reaches(id, 'failed', 'live')).toMatchObject({
    state: 'failed',
    failure_code: 'release_timeout',
    is_kept: false,
  });
  await until(async () => (await t.instances(server)).length === 0);
  await t.live(nodeApp('next'));
});

test('a runtime whose start never returns does not block the deployment forever', async () => {
  const halts: Halts = {};
  await start({ halts, releaseMsMax: () => patientMs(500) });
  const t = await newWorld();
  const stuck = halt(halts, 'start', t, { onAbort: 'hangs' });
  const { id } = await t.deploy(nodeApp('one'));
  await stuck.reached;
  expect(await t.reaches(id, 'failed', 'live')).toMatchObject({
    state: 'failed',
    failure_code: 'release_timeout',
    failure_step: 'start',
  });
});

test('a runtime that cannot stop an instance does not keep the deployment open', async () => {
  const server = await start({ releaseMsMax: () => patientMs(500) });
  const { stop } = server.deps.runtime;
  let refused = 0;
  server.deps.runtime.stop = async () => {
    refused++;
    throw new Error('The engine is away.');
  };
  const t = await newWorld();
  const { id } = await t.deploy(unwell());
  expect(await t.reaches(id, 'failed', 'live')).toMatchObject({ state: 'failed', attempts: 1 });
  expect(refused).toBeGreaterThan(0);
  server.deps.runtime.stop = stop;
  await until(async () => (await t.instances(server)).length === 0);
  await until(async () => {
    const { rows } = await sql`select from svc.app_instances where app_id = ${t.app.id}`.execute(database.db);
    return rows.length === 0;
  });
});

test('tenants without running deployments go first', async () => {
  const halts: Halts = {};
  await start({ halts, concurrencyMax: { builds: 2, all: 10 } });
  const [mine, yours] = [await newWorld(), await newWorld()];
  const others = await newWorld();
  // All slots are in use; another app of one of these tenants waits, and then one of another tenant.
  const stuck = [halt(halts, 'build', mine), halt(halts, 'build', others)];
  await mine.deploy(nodeApp('a'));
  await others.deploy(nodeApp('b'));
  for (const { reached } of stuck) await reached;
  const third = await newWorld();
  await sql`update svc.apps set tenant_id = ${mine.tenant.id} where id = ${third.app.id}`.execute(
    database.db,
  );
  Object.assign(third.appRef, { tenantId: mine.tenant.id });
  const inFetch = [halt(halts, 'fetch', third), halt(halts, 'fetch', yours)];
  const later = await third.deploy(nodeApp('c'));
  const first = await yours.deploy(nodeApp('d'));
  stuck[1]?.go();
  await inFetch[1]?.reached;
  expect((await third.row(later.id)).state).toBe('queued');
  expect((await yours.row(first.id)).state).toBe('building');
});
