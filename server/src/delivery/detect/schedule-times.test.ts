import { describe, expect, test } from 'bun:test';
import { dueTimes, findScheduleProblem, nextTime } from './schedule-times.ts';

/** As a server sees them: the next time after each, and all of them at once after a downtime. */
function times(cron: string, timezone: string, start: string, hours: number): Date[] {
  const until = new Date(Date.parse(start) + hours * 3_600_000);
  const found: Date[] = [];
  let time = nextTime({ cron, timezone }, new Date(start));
  for (; time !== null && time <= until; time = nextTime({ cron, timezone }, time)) found.push(time);
  expect(dueTimes({ cron, timezone }, { from: found[0]!, until, max: 100 })).toEqual(found);
  return found;
}

describe('a schedule at a fixed time', () => {
  test.each([
    // Clocks go from 2:00 to 3:00: the missing 2:30 comes at 3:00 summer time.
    ['Europe/Berlin', '30 2 * * *', '2026-03-28', ['03-28T01:30', '03-29T01:00', '03-30T00:30']],
    ['America/New_York', '30 2 * * *', '2026-03-07', ['03-07T07:30', '03-08T07:00', '03-09T06:30']],
    // Clocks go from 3:00 (2:00) to 2:00 (1:00): the time that comes twice counts once.
    ['Europe/Berlin', '30 2 * * *', '2026-10-24', ['10-24T00:30', '10-25T00:30', '10-26T01:30']],
    ['America/New_York', '30 1 * * *', '2026-10-31', ['10-31T05:30', '11-01T05:30', '11-02T06:30']],
    // Each time of a list is fixed. Two that are missing come as one.
    ['Europe/Berlin', '15,45 2 * * *', '2026-03-29', ['03-29T01:00', '03-30T00:15', '03-30T00:45']],
    [
      'Europe/Berlin',
      '0 2-3 * * *',
      '2026-10-24',
      ['10-24T01:00', '10-25T00:00', '10-25T02:00', '10-26T01:00'],
    ],
  ])('comes once a day in %s, also when clocks change (%s from %s)', (timezone, cron, day, expected) => {
    const found = times(cron, timezone, `${day}T00:00:00Z`, 72);
    expect(found.map((time) => time.toISOString().slice(5, 16)).slice(0, expected.length)).toEqual(expected);
  });
});

describe('a schedule of every hour', () => {
  test.each([
    ['Europe/Berlin', '2026-03-28T22:30:00Z'],
    ['Europe/Berlin', '2026-10-24T22:30:00Z'],
    ['America/New_York', '2026-03-08T04:30:00Z'],
    ['America/New_York', '2026-11-01T03:30:00Z'],
  ])('comes every hour in %s, also when clocks change (%s)', (timezone, from) => {
    const found = times('0 * * * *', timezone, from, 6);
    expect(found.map((time) => (time.getTime() - Date.parse(from)) / 60_000)).toEqual([
      30, 90, 150, 210, 270, 330,
    ]);
  });
});

test('only the newest times are listed, and the next one is after the given time', () => {
  const minute = { cron: '* * * * *', timezone: 'UTC' };
  const until = new Date('2026-05-01T10:00:00Z');
  const found = dueTimes(minute, { from: new Date('2026-04-01T00:00:00Z'), until, max: 2 });
  expect(found.map((time) => time.toISOString())).toEqual([
    '2026-05-01T09:59:00.000Z',
    '2026-05-01T10:00:00.000Z',
  ]);
  expect(nextTime(minute, until)?.toISOString()).toBe('2026-05-01T10:01:00.000Z');
});

test('a schedule that cannot be read or never comes has a problem', () => {
  const problem = (cron: string, timezone = 'UTC') => findScheduleProblem({ cron, timezone });
  expect(problem('30 2 * * MON-FRI', 'Europe/Berlin')).toBeNull();
  expect(problem('61 * * * *')).toContain('61');
  expect(problem('0 0 30 2 *')).toContain('never comes');
});
