import { expect, test } from 'bun:test';
import { pendingDaysMax, pendingTriesMax } from '@svc/contract/domains.ts';
import fc from 'fast-check';
import { type CheckOutcome, pendingIntervalMs, transition } from './schedule.ts';
import type { Check } from './store.ts';

const now = new Date('2027-01-10T00:00:00Z');
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const check = (state: Check['state'], reason: Check['reason'] = null): Check => ({
  state,
  reason,
  expected: '',
  found: [],
  next_step: '',
});
const ok = check('ok');
const wrong = check('failed', 'missing');
const outcome = (set: Partial<CheckOutcome> = {}): CheckOutcome => ({
  ownership: ok,
  routing: ok,
  certificate: ok,
  isKnown: true,
  now,
  by: 'clock',
  ...set,
});
const row = { pending_since: now, tries: 0, wrong_since: null, wrong_checks: 0, next_check_at: now };
const pending = { ...row, status: 'pending' as const };
const active = { ...row, status: 'active' as const };
const minutesTo = (at: Date | null | undefined) => at && (at.getTime() - now.getTime()) / 60_000;

test('75 tries take seven days, at intervals from half a minute to four hours', () => {
  const intervals = Array.from({ length: pendingTriesMax }, (_, tries) => pendingIntervalMs(tries));
  expect(intervals[0]).toBe(30_000);
  expect(intervals.at(-1)).toBe(4 * 3_600_000);
  expect(intervals.every((ms, at) => at === 0 || ms >= (intervals[at - 1] ?? 0))).toBe(true);
  const days = intervals.reduce((sum, ms) => sum + ms, 0) / 86_400_000;
  expect([days > 6.5, days <= pendingDaysMax]).toEqual([true, true]);
});

test('a pending domain becomes active when all three checks are right', () => {
  expect(transition(pending, outcome())).toMatchObject({ status: 'active', verified_at: now });
  for (const one of ['ownership', 'routing', 'certificate'] as const)
    expect(transition(pending, outcome({ [one]: wrong })).status).toBeUndefined();
});

test('only the periodic check disconnects a pending domain, at the last try or day', () => {
  const last = { ...pending, tries: pendingTriesMax - 1 };
  expect(transition(last, outcome({ routing: wrong }))).toMatchObject({
    status: 'disconnected',
    disconnected_for: 'not_verified',
    next_check_at: null,
  });
  const old = { ...pending, pending_since: hoursAgo(24 * pendingDaysMax) };
  expect(transition(old, outcome({ routing: wrong })).status).toBe('disconnected');
  for (const late of [last, old])
    expect(transition(late, outcome({ routing: wrong, by: 'person' })).status).toBeUndefined();
  expect(transition(pending, outcome({ routing: wrong, by: 'person' })).tries).toBe(0);
});

test('an active domain is disconnected after three wrong checks over a day', () => {
  const first = transition(active, outcome({ routing: wrong }));
  expect(first).toMatchObject({ wrong_since: now, wrong_checks: 1 });
  expect([first.status, minutesTo(first.next_check_at)]).toEqual([undefined, 60]);
  const status = (since: number, checks: number) =>
    transition({ ...active, wrong_since: hoursAgo(since), wrong_checks: checks }, outcome({ routing: wrong }))
      .status;
  for (const [since, checks] of [
    [23.9, 30],
    [24, 1],
    [240, 1],
  ] as const)
    expect([since, checks, status(since, checks)]).toEqual([since, checks, undefined]);
  expect(status(24, 2)).toBe('disconnected');
});

test('a missing TXT record alone disconnects nothing', () => {
  const doubted = { ...active, wrong_since: hoursAgo(240), wrong_checks: 100 };
  for (const state of [active, doubted]) {
    const move = transition(state, outcome({ ownership: wrong }));
    expect(move).toMatchObject({ wrong_since: null, wrong_checks: 0 });
    expect([move.status, minutesTo(move.next_check_at)]).toEqual([undefined, 360]);
  }
});

test('one good check resets the counters of an active domain', () => {
  const move = transition({ ...active, wrong_since: hoursAgo(23), wrong_checks: 20 }, outcome());
  expect(move).toMatchObject({ wrong_since: null, wrong_checks: 0 });
  expect(minutesTo(move.next_check_at)).toBe(360);
});

test('an expired certificate disconnects at once', () => {
  const certificate = check('failed', 'expired');
  expect(transition(active, outcome({ certificate }))).toMatchObject({
    status: 'disconnected',
    disconnected_for: 'certificate_expired',
  });
});

test('verifying a disconnected domain starts again', () => {
  const gone = { ...row, status: 'disconnected' as const, tries: 75, pending_since: hoursAgo(400) };
  expect(transition(gone, outcome({ routing: wrong, by: 'person' }))).toMatchObject({
    status: 'pending',
    tries: 0,
    pending_since: now,
    disconnected_at: null,
    disconnected_for: null,
  });
  expect(transition(gone, outcome({ by: 'person' })).status).toBe('active');
});

test('checks without a DNS answer count for nothing', () => {
  const states = fc.record({
    status: fc.constantFrom('pending' as const, 'active' as const),
    pending_since: fc.integer({ min: 0, max: 24 * pendingDaysMax - 1 }).map(hoursAgo),
    tries: fc.integer({ min: 0, max: 200 }),
    wrong_since: fc.option(fc.integer({ min: 0, max: 10_000 }).map(hoursAgo)),
    wrong_checks: fc.integer({ min: 0, max: 200 }),
    next_check_at: fc.constant(now),
  });
  fc.assert(
    fc.property(states, fc.constantFrom(ok, check('waiting', 'dns_unavailable')), (state, ownership) => {
      const routing = check('waiting', 'dns_unavailable');
      const move = transition(state, outcome({ ownership, routing, isKnown: false }));
      expect(Object.keys(move)).toEqual(['next_check_at']);
    }),
  );
});

test('a pending domain ends after seven days, with or without DNS answers', () => {
  const routing = check('waiting', 'dns_unavailable');
  const old = { ...pending, pending_since: hoursAgo(24 * pendingDaysMax) };
  expect(transition(old, outcome({ routing, isKnown: false }))).toMatchObject({
    status: 'disconnected',
    disconnected_for: 'not_verified',
    next_check_at: null,
  });
  expect(transition(old, outcome({ routing, isKnown: false, by: 'person' })).status).toBeUndefined();
  expect(transition(old, outcome()).status).toBe('active');
});

test('during an outage the interval grows from five minutes to four hours', () => {
  const minutes = (hours: number) =>
    minutesTo(
      transition({ ...pending, pending_since: hoursAgo(hours) }, outcome({ isKnown: false })).next_check_at,
    );
  expect([0, 0.1, 2, 8, 16, 100].map(minutes)).toEqual([5, 5, 30, 120, 240, 240]);
});
