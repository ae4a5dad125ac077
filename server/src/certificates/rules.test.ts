import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { certificateState } from './certificate-state.ts';
import { nextTryAt, renewAt } from './rules.ts';

const now = new Date('2026-01-01T00:00:00Z');
const minutes = (at: Date) => (at.getTime() - now.getTime()) / 60_000;
const failed = { now, reason: 'challenge_failed', retryAt: null, notAfter: null } as const;

test('after each failure in a row the next try is later, from a minute to twelve hours', () => {
  const waits = Array.from({ length: 12 }, (_, at) => minutes(nextTryAt({ ...failed, failures: at + 1 }).at));
  expect(waits).toEqual([1, 2, 5, 12, 30, 60, 120, 240, 480, 720, 720, 720]);
});

test('an authority that says when it may be asked again is not asked before', () => {
  const retryAt = new Date('2026-01-02T00:00:00Z');
  expect(nextTryAt({ ...failed, failures: 1, retryAt })).toEqual({ at: retryAt, heldUntil: retryAt });
  const limited = nextTryAt({ ...failed, failures: 1, reason: 'rate_limited' });
  expect([minutes(limited.at), limited.heldUntil]).toEqual([60, limited.at]);
  const soon = new Date(now.getTime() + 1000);
  expect(minutes(nextTryAt({ ...failed, failures: 3, retryAt: soon }).at)).toBe(5);
});

test('the shorter a certificate has to live, the sooner its renewal is tried again', () => {
  const wait = (hours: number) =>
    minutes(nextTryAt({ ...failed, failures: 20, notAfter: new Date(now.getTime() + hours * 3600_000) }).at);
  expect([wait(1000), wait(8), wait(1), wait(0.01)]).toEqual([720, 120, 15, 1]);
  // Over already: there is nothing to save any more.
  expect(wait(-1)).toBe(720);
});

test('a certificate is renewed in the last third of its life or just before, not all at the same time', () => {
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

test('how a certificate stands is said in words', () => {
  const row = {
    notAfter: null,
    isOrdering: false,
    nextTryAt: now,
    failureReason: null,
    failureText: null,
    isOver: false,
  };
  const failure = { failureReason: 'challenge_failed', failureText: 'The host says 404.' } as const;
  expect(certificateState(null)).toEqual({ state: 'waiting' });
  expect(certificateState(row)).toEqual({ state: 'waiting' });
  expect(certificateState({ ...row, ...failure })).toEqual({
    state: 'failed',
    reason: 'order_failed',
    detail:
      'The certificate authority did not find this server at the host: The host says 404. It is tried again at 2026-01-01T00:00:00.000Z.',
  });
  expect(certificateState({ ...row, ...failure, failureReason: 'caa_forbids' })).toMatchObject({
    reason: 'caa_forbids',
  });
  // One that could not be renewed yet is as good as before.
  expect(certificateState({ ...row, ...failure, notAfter: now })).toEqual({ state: 'ok' });
  expect(certificateState({ ...row, ...failure, notAfter: now, isOver: true })).toMatchObject({
    state: 'failed',
    reason: 'expired',
  });
});
