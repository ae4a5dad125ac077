import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { describeSent } from '../../apps/notifications/testing.ts';
import { codeOf } from '../../testing.ts';
import { testUrls } from '../deployments/testing.ts';
import { until } from '../testing.ts';
import { waitingText } from './call-app.ts';
import { cancelRun } from './runs.ts';
import { listSchedules, queueDueRuns, runSchedule } from './schedules.ts';
import { useRuns } from './testing.ts';

const { database, newWorld, nodeApp } = useRuns();
type World = Awaited<ReturnType<typeof newWorld>>;

const yaml = (...schedules: string[]) =>
  `start: node server.cjs\nschedules:\n${schedules.map((text) => `  - { ${text} }\n`).join('')}`;
const app = (schedules: string[], files: Record<string, string> = {}) =>
  nodeApp('one', { 'svc.yaml': yaml(...schedules), ...files });

const setNext = (t: World, name: string, next: Date) =>
  sql`update svc.app_schedules set next_at = ${next} where app_id = ${t.app.id} and name = ${name}`.execute(
    database.db,
  );
const listed = (t: World) =>
  t.mutate((ctx) => listSchedules(ctx, { page: 1, per_page: 50 })).then(({ items }) => items);
const minutes = (count: number) => count * 60_000;
const thisMinute = () => new Date(Math.floor(Date.now() / 60_000) * 60_000);
const before = (time: Date, ms: number) => new Date(time.getTime() - ms);

describe('the schedules of an app', () => {
  test('are those of the live deployment, and stay when it only starts again', async () => {
    const t = await newWorld();
    const nightly =
      'name: nightly, cron: "30 2 * * *", timezone: Europe/Berlin, run: node report.js, timeout: 5m';
    await t.live(app([nightly, 'name: ping, cron: "0 0 1 1 *", path: /ping']));
    expect(await listed(t)).toMatchObject([
      {
        name: 'nightly',
        timezone: 'Europe/Berlin',
        command: 'node report.js',
        timeout_seconds: 300,
        last: null,
      },
      { name: 'ping', timezone: 'UTC', path: '/ping', timeout_seconds: 3600 },
    ]);
    const kept = new Date('2040-05-05T05:05:00Z');
    await setNext(t, 'nightly', kept);
    await t.live(app([nightly]));
    expect(await listed(t)).toMatchObject([{ name: 'nightly', next_at: kept.toISOString() }]);
    await t.live(nodeApp('two'));
    expect(await listed(t)).toEqual([]);
  });

  test('that cannot be read stop the deployment', async () => {
    const t = await newWorld();
    expect(await t.live(app(['name: wrong, cron: "99 * * * *", run: x']))).toMatchObject({
      state: 'failed',
      failure_step: 'detect',
      failure_detail: expect.stringContaining('schedule wrong'),
    });
  });
});

describe('a time of a schedule', () => {
  test('is taken once by many servers; after a downtime the newest one runs and the others are missed', async () => {
    const t = await newWorld();
    await t.live(app(['name: tick, cron: "* * * * *", run: echo ticked']));
    const now = thisMinute();
    await setNext(t, 'tick', before(now, minutes(4)));
    await Promise.all(Array.from({ length: 8 }, () => queueDueRuns(database.db, new Date())));
    const newest = await until(
      () => t.runsOf('tick'),
      (runs) => runs.every(({ ended_at }) => ended_at !== null),
    );
    const last5 = newest.slice(-5);
    expect(last5.map(({ due_at }) => due_at?.toISOString())).toEqual(
      [0, 1, 2, 3, 4].map((count) => before(now, minutes(count)).toISOString()),
    );
    expect(last5.map(({ state }) => state)).toEqual(['succeeded', 'missed', 'missed', 'missed', 'missed']);
    expect(await t.lines(last5[0]!.id)).toEqual([['stdout', 'ticked']]);
  });

  test('that is older than the grace period is missed, and so is one that waits for a server for too long', async () => {
    const t = await newWorld();
    await t.live(app(['name: yearly, cron: "0 0 1 1 *", run: echo ticked']));
    const due = new Date('2026-01-01T00:00:00Z');
    await setNext(t, 'yearly', due);
    await queueDueRuns(database.db, new Date(due.getTime() + minutes(6)));
    // The workers of other tests share the database: one of them may take it.
    const missed = await until(
      () => t.runsOf('yearly'),
      (runs) => runs.length > 0,
    );
    expect(missed).toMatchObject([{ state: 'missed', due_at: due }]);
    expect(await listed(t)).toMatchObject([
      { next_at: '2027-01-01T00:00:00.000Z', last: { state: 'missed' } },
    ]);
    await setNext(t, 'yearly', new Date('2025-01-01T00:00:00Z'));
    await queueDueRuns(database.db, new Date('2025-01-01T00:01:00Z'));
    const [, older] = await until(
      () => t.runsOf('yearly'),
      (runs) => runs.length === 2 && runs.every(({ ended_at }) => ended_at !== null),
    );
    expect(older).toMatchObject({ state: 'missed', started_at: expect.any(Date) });
  });

  test('is skipped while the run before it has not ended', async () => {
    const t = await newWorld();
    await t.live(
      app([
        'name: slow, cron: "0 0 1 1 *", run: echo begun; sleep 100',
        'name: other, cron: "0 0 1 1 *", run: "true"',
      ]),
    );
    const run = await t.mutate((ctx) => runSchedule(ctx, { name: 'slow' }, testUrls));
    await t.prints(run.id, 'begun');
    expect(await codeOf(t.mutate((ctx) => runSchedule(ctx, { name: 'slow' }, testUrls)))).toBe(
      'limit_reached',
    );
    await setNext(t, 'slow', thisMinute());
    await queueDueRuns(database.db, new Date());
    expect((await t.runsOf('slow')).filter(({ due_at }) => due_at !== null)).toMatchObject([
      { state: 'skipped' },
    ]);
    await t.mutate((ctx) => cancelRun(ctx, { id: run.id }));
    expect(await t.ends(run.id)).toMatchObject({ state: 'canceled' });
  });

  test('passes without a trace while the app is suspended', async () => {
    const t = await newWorld();
    await t.live(app(['name: tick, cron: "0 0 1 1 *", run: "true"']));
    await sql`update svc.apps set runtime = 'suspended' where id = ${t.app.id}`.execute(database.db);
    await setNext(t, 'tick', thisMinute());
    await queueDueRuns(database.db, new Date());
    expect([await t.runsOf('tick'), await listed(t)]).toMatchObject([[], [{ next_at: null }]]);
  });

  test('that fails notifies the owners, once until it succeeds again', async () => {
    const t = await newWorld();
    await t.live(app(['name: tick, cron: "0 0 1 1 *", run: exit $(cat /tmp/none 2>/dev/null || echo 3)']));
    const runDue = async (due: Date) => {
      await setNext(t, 'tick', due);
      await queueDueRuns(database.db, new Date());
      return until(
        async () => (await t.runsOf('tick')).find(({ due_at }) => due_at?.getTime() === due.getTime()),
        (run) => run?.ended_at,
      );
    };
    expect(await runDue(before(thisMinute(), 1_000))).toMatchObject({ state: 'failed', exit_code: 3 });
    expect(await runDue(thisMinute())).toMatchObject({ state: 'failed' });
    expect(await describeSent(database.db, t.tenant, { owner: t.owner })).toEqual(['schedule_failed: owner']);
  });
});

describe('a schedule with a path', () => {
  test('sends a POST request with headers that the app can trust; the answer is in the log', async () => {
    const t = await newWorld();
    const server = `require('http').createServer((request, response) => {
      if (request.method !== 'POST') return response.end('web');
      response.statusCode = request.url === '/bad' ? 500 : 200;
      request.on('data', (body) => response.end([request.url, request.headers['x-svc-schedule'], JSON.parse(body).schedule].join(' ')));
    }).listen(process.env.PORT);`;
    const schedules = [
      'name: good, cron: "0 0 1 1 *", path: /good',
      'name: bad, cron: "0 0 1 1 *", path: /bad',
    ];
    expect(await t.live(app(schedules, { 'server.cjs': server }))).toMatchObject({ state: 'live' });
    const run = async (name: string) =>
      t.ends((await t.mutate((ctx) => runSchedule(ctx, { name }, testUrls))).id);
    const good = await run('good');
    expect(good).toMatchObject({ state: 'succeeded', exit_code: null, path: '/good' });
    expect(await t.lines(good.id)).toEqual([
      ['stdout', '/good good good'],
      ['platform', 'POST /good was answered with status 200.'],
    ]);
    expect(await run('bad')).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('status 500'),
    });
  });

  test('sends it once an instance listens, and not to one that has ended', async () => {
    const t = await newWorld();
    const server = `require('http').createServer((request, response) => {
      if (request.url === '/cut') return request.socket.destroy();
      response.end('done');
    }).listen(process.env.PORT);`;
    const schedules = [
      'name: late, cron: "0 0 1 1 *", path: /late',
      'name: cut, cron: "0 0 1 1 *", path: /cut',
    ];
    await t.live(app(schedules, { 'server.cjs': server }));
    const moveTo = async (address: string) => {
      const { rows } = await sql<{ address: string }>`
        update svc.app_instances i set address = ${address} from svc.app_instances o
        where i.app_id = ${t.app.id} and o.id = i.id returning o.address`.execute(database.db);
      return rows[0]!.address;
    };
    const run = async (name: string) => (await t.mutate((ctx) => runSchedule(ctx, { name }, testUrls))).id;
    // Nothing listens there.
    const address = await moveTo('127.0.0.1:1');
    const late = await run('late');
    await t.prints(late, waitingText);
    await moveTo(address);
    expect(await t.ends(late)).toMatchObject({ state: 'succeeded', failure: null });
    // The app may have carried it out.
    expect(await t.ends(await run('cut'))).toMatchObject({
      state: 'failed',
      failure: 'POST /cut failed: the app closed the connection before it had answered; it is not run again.',
    });
  });
});
