import { expect, test } from 'bun:test';
import { newNodeApp, nodeApp, runsOf } from './support/apps.ts';
import { openServerDatabase } from './support/database.ts';
import { newTenant } from './support/people.ts';
import { Tally } from './support/rows.ts';
import { sharedEmbedded } from './support/server.ts';
import { until } from './support/until.ts';

const atOnce = 50;

test('50 parallel deployments of one app: the newest is live, the others are not, and none is doubled', async () => {
  const server = await sharedEmbedded();
  const app = await newNodeApp(await newTenant(server), nodeApp('one'));
  const database = openServerDatabase(server);
  const begun = performance.now();
  // The push itself starts the first one.
  const commit = await app.copy.push();
  const made = await Promise.all(Array.from({ length: atOnce }, () => app.deploy()));
  expect(made.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(numbers(2, atOnce + 1));
  expect(new Set(made.map(({ id }) => id)).size).toBe(atOnce);

  const newest = made.find(({ seq }) => seq === atOnce + 1)!;
  const live = await app.ended(newest);
  const seconds = (performance.now() - begun) / 1000;
  expect(live).toMatchObject({ state: 'live', commit, failure: null });
  const all = await app.deployments();
  expect(all.map(({ seq }) => seq)).toEqual(numbers(1, atOnce + 1).reverse());
  const states = new Tally();
  for (const { state } of all) states.add(state);
  expect(states.except('live', 'skipped', 'superseded')).toEqual([]);
  expect(states.count('live')).toBe(1);
  await app.answers('one');

  await until(
    'one instance is left',
    async () => runsOf(app).length === 1 && (await instances()).length === 1,
    40_000,
  );
  expect((await instances()).map(({ deployment_id }) => deployment_id)).toEqual([newest.id]);
  expect(runsOf(app)).toEqual((await instances()).map(({ id }) => String(id)));
  const [worked] = await database.query(
    'select max(attempts) as attempts, count(started_at)::int as on from svc.deployments where app_id = $1',
    [app.id],
  );
  expect(worked?.attempts).toBe(1);
  console.log(`${atOnce} at once: ${states}; ${worked?.on} worked on; live after ${seconds.toFixed(1)} s`);
  await database.close();

  function instances() {
    return database.query('select id, deployment_id from svc.app_instances where app_id = $1', [app.id]);
  }
});

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
