import { describe, expect, test } from 'bun:test';
import { CompiledQuery, sql } from 'kysely';
import { notifySql } from '../../core/invalidation.ts';
import { nextTime } from '../detect/schedule-times.ts';
import { until } from '../testing.ts';
import { runsTag } from './run-records.ts';
import { useRuns } from './testing.ts';

/** The clock of two servers, whose schedulers and workers are the real ones. */
let clock = new Date(0);
const { database, newWorld, nodeApp } = useRuns({ now: () => clock, servers: 2 });

const stepMs = 15 * 60_000;
const schedules = {
  fixed: '30 2 * * *',
  list: '15,45 2 * * *',
  hourly: '0 * * * *',
  halves: '*/30 2 * * *',
};
type Name = keyof typeof schedules;

async function newNight(timezone: string, from: string) {
  const t = await newWorld();
  const lines = Object.entries(schedules).map(
    ([name, cron]) => `  - { name: ${name}, cron: "${cron}", timezone: ${timezone}, run: echo ran }\n`,
  );
  await t.live(nodeApp('one', { 'svc.yaml': `start: node server.cjs\nschedules:\n${lines.join('')}` }));
  for (const [name, cron] of Object.entries(schedules))
    await sql`update svc.app_schedules set next_at = ${nextTime({ cron, timezone }, new Date(from))}
      where app_id = ${t.app.id} and name = ${name}`.execute(database.db);
  const isAwake = async () => {
    const { rows } =
      await sql`select from svc.app_schedules where app_id = ${t.app.id} and next_at <= ${clock}
      union all select from svc.app_runs where app_id = ${t.app.id} and ended_at is null`.execute(
        database.db,
      );
    return rows.length === 0;
  };
  return {
    /** Until the servers have done what is due. */
    async goTo(time: Date) {
      clock = time;
      await database.db.executeQuery(CompiledQuery.raw(notifySql, [runsTag]));
      await until(isAwake, (is) => is);
    },
    async end() {
      clock = new Date(0);
      await sql`update svc.app_schedules set next_at = null where app_id = ${t.app.id}`.execute(database.db);
    },
    /** State and time of each run, oldest first; ' ran' for a command that has run. */
    async runs(name: Name) {
      const rows = (await t.runsOf(name)).toReversed();
      return Promise.all(
        rows.map(async ({ id, state, due_at }) => {
          const printed = (await t.lines(id)).filter(([, text]) => text === 'ran');
          return `${due_at?.toISOString().slice(11, 16)} ${state}${' ran'.repeat(printed.length)}`;
        }),
      );
    },
  };
}

/** The times of UTC at which each schedule runs, once each. */
const nights: [title: string, timezone: string, from: string, runs: Record<Name, string[]>][] = [
  [
    'set forward in Berlin',
    'Europe/Berlin',
    '2027-03-27T23:45:00Z',
    { fixed: ['01:00'], list: ['01:00'], hourly: ['00:00', '01:00', '02:00', '03:00'], halves: [] },
  ],
  [
    'set back in Berlin',
    'Europe/Berlin',
    '2027-10-30T23:45:00Z',
    {
      fixed: ['00:30'],
      list: ['00:15', '00:45'],
      hourly: ['00:00', '01:00', '02:00', '03:00'],
      halves: ['00:00', '00:30', '01:00', '01:30'],
    },
  ],
  [
    'set forward in New York',
    'America/New_York',
    '2027-03-14T06:45:00Z',
    { fixed: ['07:00'], list: ['07:00'], hourly: ['07:00', '08:00', '09:00', '10:00'], halves: [] },
  ],
];

describe('in a night when clocks change', () => {
  test.each(nights)('every time runs once: %s', async (_, timezone, from, expected) => {
    const night = await newNight(timezone, from);
    for (let step = 1; step <= 14; step++) await night.goTo(new Date(Date.parse(from) + step * stepMs));
    for (const [name, times] of Object.entries(expected))
      expect([name, await night.runs(name as Name)]).toEqual([
        name,
        times.map((time) => `${time} succeeded ran`),
      ]);
    await night.end();
  });

  test('servers that were down list every time as missed, but the newest if it is not too late', async () => {
    const night = await newNight('Europe/Berlin', '2027-10-30T23:45:00Z');
    await night.goTo(new Date('2027-10-31T03:02:00Z'));
    expect(await night.runs('fixed')).toEqual(['00:30 missed']);
    expect(await night.runs('list')).toEqual(['00:15 missed', '00:45 missed']);
    expect(await night.runs('hourly')).toEqual([
      '00:00 missed',
      '01:00 missed',
      '02:00 missed',
      '03:00 succeeded ran',
    ]);
    await night.end();
  });
});
