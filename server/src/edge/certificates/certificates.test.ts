import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { certificateState } from './certificates.ts';
import { nextTryAt, renewAt } from './store.ts';

const now = new Date('2026-01-01T00:00:00Z');
const minutes = (at: Date) => (at.getTime() - now.getTime()) / 60_000;
const failed = { now, reason: 'challenge_failed', retryAt: null, notAfter: null } as const;

test('the delay after consecutive failures grows from a minute to twelve hours', () => {
  const waits = Array.from({ length: 12 }, (_, at) => minutes(nextTryAt({ ...failed, failures: at + 1 }).at));
  expect(waits).toEqual([1, 2, 5, 12, 30, 60, 120, 240, 480, 720, 720, 720]);
});

test('the retry time of the authority is a minimum', () => {
  const retryAt = new Date('2026-01-02T00:00:00Z');
  expect(nextTryAt({ ...failed, failures: 1, retryAt })).toEqual({ at: retryAt, pausedUntil: retryAt });
  const limited = nextTryAt({ ...failed, failures: 1, reason: 'rate_limited' });
  expect([minutes(limited.at), limited.pausedUntil]).toEqual([60, limited.at]);
  const soon = new Date(now.getTime() + 1000);
  expect(minutes(nextTryAt({ ...failed, failures: 3, retryAt: soon }).at)).toBe(5);
});

test('a certificate that expires sooner is retried sooner', () => {
  const wait = (hours: number) =>
    minutes(nextTryAt({ ...failed, failures: 20, notAfter: new Date(now.getTime() + hours * 3600_000) }).at);
  expect([wait(1000), wait(8), wait(1), wait(0.01)]).toEqual([720, 120, 15, 1]);
  // The certificate has expired: the usual delay applies.
  expect(wait(-1)).toBe(720);
});

test('renewals are spread over the last third of the lifetime', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 3600, max: 1e8 }),
      fc.double({ min: 0, max: 0.999999, noNaN: true }),
      (seconds, random) => {
        const notAfter = new Date(now.getTime() + seconds * 1000);
        const part =
          (renewAt({ notBefore: now, notAfter }, random).getTime() - now.getTime()) / (seconds * 1000);
        expect(part).toBeGreaterThan(0.63);
        expect(part).toBeLessThan(0.6667);
      },
    ),
  );
});

test('the state of a certificate has a readable detail', () => {
  const row = {
    notAfter: null,
    isOrdering: false,
    nextTryAt: now,
    failureReason: null,
    failureText: null,
    isExpired: false,
  };
  const failure = { failureReason: 'challenge_failed', failureText: 'The host answers 404.' } as const;
  expect(certificateState(null)).toEqual({ state: 'waiting' });
  expect(certificateState(row)).toEqual({ state: 'waiting' });
  expect(certificateState({ ...row, ...failure })).toEqual({
    state: 'failed',
    reason: 'order_failed',
    detail:
      'The certificate authority could not reach this server at the host: The host answers 404. Next attempt at 2026-01-01T00:00:00.000Z.',
  });
  expect(certificateState({ ...row, ...failure, failureReason: 'caa_forbids' })).toMatchObject({
    reason: 'caa_forbids',
  });
  // A certificate is ok until it expires, even if its renewal failed.
  expect(certificateState({ ...row, ...failure, notAfter: now })).toEqual({ state: 'ok' });
  expect(certificateState({ ...row, ...failure, notAfter: now, isExpired: true })).toMatchObject({
    state: 'failed',
    reason: 'expired',
  });
});
