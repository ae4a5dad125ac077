import { describe, expect, test } from 'bun:test';
import { artifactsKeptMax, deploymentStates } from '@svc/contract/deployments.ts';
import { isHealthy } from './check-health.ts';
import { isDrained } from './drain.ts';
import {
  cancelOf,
  drainMsMax,
  drainMsMin,
  expiring,
  healthOf,
  isOvertaken,
  isUsedBy,
  releaseMsMax,
  rollbackObstacle,
  tenantsWithMost,
} from './rules.ts';
import { secretsOf } from './secrets-of.ts';

describe('to cancel', () => {
  test.each([...deploymentStates])('one that is %s', (state) => {
    const outcome = cancelOf({ state, ended_at: null, cancel_asked: false });
    const expected = { queued: 'ends', building: 'asked', built: 'asked', canceled: 'same' } as const;
    expect(outcome).toBe(state in expected ? expected[state as keyof typeof expected] : 'refused');
  });

  test('one that was asked to stop already changes nothing, and one that waits for its review is not under way', () => {
    expect(cancelOf({ state: 'building', ended_at: null, cancel_asked: true })).toBe('same');
    expect(cancelOf({ state: 'built', ended_at: new Date(), cancel_asked: false })).toBe('refused');
  });
});

describe('to roll back', () => {
  test.each([...deploymentStates])('to one that is %s', (state) => {
    const obstacle = rollbackObstacle({ state, live_at: new Date(), is_kept: true });
    expect(obstacle).toBe(state === 'superseded' ? null : 'not_rollback_target');
  });

  test('to one that is not kept, or never was live', () => {
    const row = { state: 'superseded', live_at: new Date(), is_kept: false } as const;
    expect(rollbackObstacle(row)).toBe('artifact_expired');
    expect(rollbackObstacle({ ...row, live_at: null, is_kept: true })).toBe('not_rollback_target');
  });
});

test('what is older than what is live comes too late, unless it is meant to go back', () => {
  expect(isOvertaken({ seq: 2, kind: 'deploy' }, { seq: 3 })).toBe(true);
  expect(isOvertaken({ seq: 2, kind: 'rollback' }, { seq: 3 })).toBe(false);
  expect(isOvertaken({ seq: 4, kind: 'deploy' }, { seq: 3 })).toBe(false);
  expect(isOvertaken({ seq: 1, kind: 'deploy' }, undefined)).toBe(false);
});

test('what is live, what is not at its end and the newest others are kept', () => {
  const row = (seq: number, state: 'live' | 'superseded' | 'building') => ({
    ...{ id: `${seq}`, seq, state, is_kept: true, artifact: { seq }, release_id: null },
    ...(state === 'building'
      ? { ended_at: null, live_at: null }
      : { ended_at: new Date(), live_at: new Date() }),
  });
  const others = Array.from({ length: artifactsKeptMax + 2 }, (_, at) => row(at + 2, 'superseded'));
  const rows = [row(1, 'live'), ...others, row(99, 'building')];
  expect(expiring(rows).map(({ seq }) => seq)).toEqual([3, 2]);
  expect(isUsedBy({ seq: 99 }, rows)).toBe(true);
  expect(isUsedBy({ seq: 100 }, rows)).toBe(false);
});

test('what was gone back to again and again, or never came to be live, takes no place of another', () => {
  const ended = (seq: number, of: number, state: 'superseded' | 'canceled' | 'built' | 'live') => ({
    ...{ id: `${seq}`, seq, state, is_kept: true, artifact: { of }, release_id: null, ended_at: new Date() },
    live_at: state === 'superseded' || state === 'live' ? new Date() : null,
  });
  const firsts = Array.from({ length: artifactsKeptMax }, (_, at) => ended(at + 1, at + 1, 'superseded'));
  const again = Array.from({ length: 20 }, (_, at) => ended(at + 20, (at % 2) + 1, 'superseded'));
  expect(expiring([...firsts, ...again, ended(99, 2, 'live')])).toEqual([]);
  // One more that waits for its review is one more to keep; one that was canceled is none at all.
  const waiting = ended(50, 50, 'built');
  const more = [...firsts, waiting, ended(51, 51, 'canceled'), ended(99, 99, 'live')];
  expect(expiring(more).map(({ seq }) => seq)).toEqual([51, 1]);
});

test('a release has its time: that of its health, a little beside it, and never more than that', () => {
  const of = (timeoutMs: number) => ({ start_with: { health: { path: null, timeoutMs }, env: {} } });
  expect(releaseMsMax(of(60_000))).toBe(180_000);
  expect(releaseMsMax({ start_with: null })).toBe(180_000);
  // Written down before there was a limit.
  expect(healthOf(of(999_999 * 60_000)).timeoutMs).toBe(600_000);
  expect(releaseMsMax(of(999_999 * 60_000))).toBe(720_000);
});

test('who has half of the places gets no more of them', () => {
  const [mine, yours] = [{ tenantId: 'mine' }, { tenantId: 'yours' }];
  expect(tenantsWithMost([mine, mine, yours], 4)).toEqual(['mine']);
  expect(tenantsWithMost([mine], 1)).toEqual([]);
});

describe('an instance that gets no new requests', () => {
  const now = new Date();
  const since = (ms: number) => ({ draining_at: new Date(now.getTime() - ms), address: '127.0.0.1:1' });
  test.each([
    ['is heard of by all before it ends', drainMsMin - 1, 0, 'one', false],
    ['ends when it has none under way', drainMsMin, 0, 'one', true],
    ['is waited for while it has', drainMsMin, 1, 'one', false],
    ['is not waited for without end', drainMsMax, 1, 'one', true],
    ['has its time where others may lead to it', drainMsMin, 0, 'many', false],
    ['has no more than its time there', drainMsMax, 0, 'many', true],
  ] as const)('%s', (_, ms, underWay, copies, drained) => {
    expect(isDrained(since(ms), { now, underWay, copies })).toBe(drained);
  });

  test('ends at once where nobody was ever led to it', () => {
    const row = { draining_at: now, address: null };
    expect(isDrained(row, { now, underWay: 0, copies: 'many' })).toBe(true);
  });
});

test('any answer that is no fault of the server is healthy, and of a given path only what went well', () => {
  const statuses = [200, 204, 302, 401, 404, 500, 503];
  expect(statuses.filter((status) => isHealthy(status, null))).toEqual([200, 204, 302, 401, 404]);
  expect(statuses.filter((status) => isHealthy(status, '/healthz'))).toEqual([200, 204, 302]);
});

test('values are kept out of logs, unless they are known to all who see the app', () => {
  expect(secretsOf({ TOKEN: 'abcdef', SVC_APP: 'my-app-1', NODE_ENV: 'production' })).toEqual(['abcdef']);
});
