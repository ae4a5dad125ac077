import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { codeOf } from '../../testing.ts';
import { readLastLines } from '../logs/log-lines.ts';
import { until } from '../testing.ts';
import { restartApp, rollbackDeployment } from './deployments.ts';
import { findLiveInstances, wakeApp } from './instances-store.ts';
import { listInstances, scaleApp } from './processes.ts';
import { type DeployWorld, testUrls, useDeployments } from './testing.ts';

const { database, nodeApp, newWorld } = useDeployments();

const worker = `setInterval(() => console.log('tick of ' + process.env.SVC_PROCESS + process.env.SVC_INSTANCE), 200);`;
const withWorker = (text: string, manifest = '') =>
  nodeApp(text, {
    'svc.yaml': `start: node server.cjs\n${manifest}`,
    'worker.cjs': worker,
    Procfile: 'web: node other.cjs\nrelease: node -e 0\nworker: node worker.cjs\n',
  });

const list = (t: DeployWorld) => t.mutate((ctx) => listInstances(ctx, { page: 1, per_page: 50 }));
/** `web1 web2 worker1` of the instances that are not about to stop. */
const names = async (t: DeployWorld) =>
  (await list(t)).items
    .filter(({ state }) => state !== 'draining')
    .map(({ process, index, state }) => `${process}${index}${state === 'ready' ? '' : ` ${state}`}`)
    .join(' ');
const runs = (t: DeployWorld, expected: string) =>
  until(
    () => names(t),
    (now) => now === expected,
  );
const scale = (t: DeployWorld, instances: Record<string, number>) =>
  t.mutate((ctx) => scaleApp(ctx, { instances }));
const backdate = (t: DeployWorld) =>
  sql`update svc.app_activity set last_active_at = now() - interval '1 day' where app_id = ${t.app.id}`.execute(
    database.db,
  );

describe('processes', () => {
  test('of the Procfile run beside the app, with a log of their own', async () => {
    const t = await newWorld();
    expect((await t.live(withWorker('one'))).failure_detail).toBeNull();
    expect(await names(t)).toBe('web1 worker1');
    expect(await t.responseText()).toBe('one');
    expect((await findLiveInstances(database.db, t.app.id))?.addresses).toHaveLength(1);
    const scope = { ...t.appRef, source: 'app' as const, deploymentId: null, process: 'worker' };
    const lines = await until(
      () => readLastLines(database.db, scope, 5),
      (found) => found.length > 0,
    );
    expect(lines.every(({ text, process }) => text === 'tick of worker1' && process === 'worker')).toBe(true);
  });

  test('that exit at once fail the deployment, and what is live stays', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const failed = await t.live(
      nodeApp('two', { 'svc.yaml': 'start: node server.cjs\nprocesses: { mailer: exit 3 }\n' }),
    );
    expect(failed).toMatchObject({ state: 'failed', failure_code: 'health_check_failed' });
    expect(failed.failure_detail).toContain('The process mailer exits');
    expect([await names(t), await t.responseText()]).toEqual(['web1', 'one']);
  });
});

describe('scaling', () => {
  test('starts and stops instances without a deployment, until svc.yaml says how many', async () => {
    const t = await newWorld();
    const first = await t.live(withWorker('one'));
    expect(await scale(t, { web: 3, worker: 0 })).toEqual({
      items: [
        { process: 'web', instances: 3, set_by: 'scale' },
        { process: 'worker', instances: 0, set_by: 'scale' },
      ],
    });
    await runs(t, 'web1 web2 web3');
    expect(new Set((await findLiveInstances(database.db, t.app.id))?.addresses).size).toBe(3);
    expect(await scale(t, { web: 3 })).toMatchObject({ changed: false });
    await scale(t, { web: 2 });
    await runs(t, 'web1 web2');
    const again = await t.mutate((ctx) => restartApp(ctx, testUrls));
    expect(await t.reaches(again.id, 'live', 'failed')).toMatchObject({ state: 'live' });
    expect(await names(t)).toBe('web1 web2');
    expect(await t.live(withWorker('two', 'instances: 1\n'))).toMatchObject({ state: 'live' });
    expect((await list(t)).processes).toEqual([
      { process: 'web', instances: 1, set_by: 'manifest' },
      { process: 'worker', instances: 0, set_by: 'scale' },
    ]);
    const back = await t.mutate((ctx) => rollbackDeployment(ctx, { id: first.id }, testUrls));
    expect(await t.reaches(back.id, 'live', 'failed')).toMatchObject({ state: 'live' });
    expect([await names(t), await t.responseText()]).toEqual(['web1', 'one']);
  });

  test('is refused for unknown processes, and where nothing is deployed', async () => {
    const t = await newWorld();
    expect(await codeOf(scale(t, { web: 2 }))).toBe('nothing_deployed');
    await t.live(nodeApp('one'));
    expect(await codeOf(scale(t, { worker: 2 }))).toBe('validation_failed');
    expect((await list(t)).serves).toBe('process');
  });
});

describe('an app that may sleep', () => {
  test('stops without requests, is listed as asleep, and starts once when it is woken', async () => {
    const t = await newWorld();
    await t.live(withWorker('one', 'sleep: 5m\n'));
    expect(await names(t)).toBe('web1 worker1');
    await backdate(t);
    await runs(t, 'web1 asleep worker1 asleep');
    expect((await findLiveInstances(database.db, t.app.id))?.addresses).toEqual([]);
    await Promise.all([1, 2, 3].map(() => wakeApp(database.db, t.app.id)));
    await runs(t, 'web1 worker1');
    expect(await t.responseText()).toBe('one');
  });
});
