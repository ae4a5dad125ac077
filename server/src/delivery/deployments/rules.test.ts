import { describe, expect, test } from 'bun:test';
import { deploymentStates, retainedArtifactsMax } from '@svc/contract/deployments.ts';
import { secretValues } from './build-deployment.ts';
import { isDrained, isHealthy } from './check-health.ts';
import {
  busyTenants,
  cancelOutcome,
  drainMsMax,
  drainMsMin,
  expiredArtifacts,
  healthSettings,
  instanceSlots,
  isArtifactUsed,
  isOvertaken,
  processScales,
  releaseMsMax,
  replacedScales,
  rollbackObstacle,
} from './rules.ts';

describe('canceling', () => {
  test.each([...deploymentStates])('a deployment that is %s', (state) => {
    const outcome = cancelOutcome({ state, ended_at: null, cancel_asked: false });
    const expected = { queued: 'ends', building: 'requested', built: 'requested', canceled: 'same' } as const;
    expect(outcome).toBe(state in expected ? expected[state as keyof typeof expected] : 'refused');
  });

  test('is idempotent, and rejected for a deployment that needs a review', () => {
    expect(cancelOutcome({ state: 'building', ended_at: null, cancel_asked: true })).toBe('same');
    expect(cancelOutcome({ state: 'built', ended_at: new Date(), cancel_asked: false })).toBe('refused');
  });
});

describe('rolling back', () => {
  test.each([...deploymentStates])('to a deployment that is %s', (state) => {
    const obstacle = rollbackObstacle({ state, live_at: new Date(), is_kept: true });
    expect(obstacle).toBe(state === 'superseded' ? null : 'not_rollback_target');
  });

  test('to a deployment whose artifact expired or that never was live', () => {
    const row = { state: 'superseded', live_at: new Date(), is_kept: false } as const;
    expect(rollbackObstacle(row)).toBe('artifact_expired');
    expect(rollbackObstacle({ ...row, live_at: null, is_kept: true })).toBe('not_rollback_target');
  });
});

test('a deployment older than the live one is overtaken, unless it is a rollback', () => {
  expect(isOvertaken({ seq: 2, kind: 'deploy' }, { seq: 3 })).toBe(true);
  expect(isOvertaken({ seq: 2, kind: 'rollback' }, { seq: 3 })).toBe(false);
  expect(isOvertaken({ seq: 4, kind: 'deploy' }, { seq: 3 })).toBe(false);
  expect(isOvertaken({ seq: 1, kind: 'deploy' }, undefined)).toBe(false);
});

test('artifacts of live, open and the newest other deployments are retained', () => {
  const row = (seq: number, state: 'live' | 'superseded' | 'building') => ({
    id: `${seq}`,
    seq,
    state,
    is_kept: true,
    artifact: { seq },
    release_id: null,
    ...(state === 'building'
      ? { ended_at: null, live_at: null }
      : { ended_at: new Date(), live_at: new Date() }),
  });
  const others = Array.from({ length: retainedArtifactsMax + 2 }, (_, at) => row(at + 2, 'superseded'));
  const rows = [row(1, 'live'), ...others, row(99, 'building')];
  expect(expiredArtifacts(rows).map(({ seq }) => seq)).toEqual([3, 2]);
  expect(isArtifactUsed({ seq: 99 }, rows)).toBe(true);
  expect(isArtifactUsed({ seq: 100 }, rows)).toBe(false);
});

test('repeated rollbacks and deployments that never were live do not displace others', () => {
  const ended = (seq: number, of: number, state: 'superseded' | 'canceled' | 'built' | 'live') => ({
    id: `${seq}`,
    seq,
    state,
    is_kept: true,
    artifact: { of },
    release_id: null,
    ended_at: new Date(),
    live_at: state === 'superseded' || state === 'live' ? new Date() : null,
  });
  const firsts = Array.from({ length: retainedArtifactsMax }, (_, at) => ended(at + 1, at + 1, 'superseded'));
  const again = Array.from({ length: 20 }, (_, at) => ended(at + 20, (at % 2) + 1, 'superseded'));
  expect(expiredArtifacts([...firsts, ...again, ended(99, 2, 'live')])).toEqual([]);
  // A deployment that waits for review is retained in addition; a canceled one does not count.
  const waiting = ended(50, 50, 'built');
  const more = [...firsts, waiting, ended(51, 51, 'canceled'), ended(99, 99, 'live')];
  expect(expiredArtifacts(more).map(({ seq }) => seq)).toEqual([51, 1]);
});

test('the limit of a release is its health timeout plus a margin, up to a maximum', () => {
  const of = (timeoutMs: number) => ({ start_with: { health: { path: null, timeoutMs }, env: {} } });
  expect(releaseMsMax(of(60_000))).toBe(180_000);
  expect(releaseMsMax({ start_with: null })).toBe(180_000);
  // Stored before the limit existed.
  expect(healthSettings(of(999_999 * 60_000)).timeoutMs).toBe(600_000);
  expect(releaseMsMax(of(999_999 * 60_000))).toBe(720_000);
});

test('a tenant that uses half of the slots gets no more', () => {
  const [mine, yours] = [{ tenantId: 'mine' }, { tenantId: 'yours' }];
  expect(busyTenants([mine, mine, yours], 4)).toEqual(['mine']);
  expect(busyTenants([mine], 1)).toEqual([]);
});

describe('a draining instance', () => {
  const now = new Date();
  const since = (ms: number) => ({ draining_at: new Date(now.getTime() - ms), address: '127.0.0.1:1' });
  test.each([
    ['waits until all servers know it', drainMsMin - 1, 0, 'one', false],
    ['stops when it has no requests', drainMsMin, 0, 'one', true],
    ['waits for its requests', drainMsMin, 1, 'one', false],
    ['stops after a maximum time', drainMsMax, 1, 'one', true],
    ['waits if other servers may have requests', drainMsMin, 0, 'many', false],
    ['stops after the maximum time even then', drainMsMax, 0, 'many', true],
  ] as const)('%s', (_, ms, inFlight, processes, drained) => {
    expect(isDrained(since(ms), { now, inFlight, processes })).toBe(drained);
  });

  test('stops at once if it never had an address', () => {
    const row = { draining_at: now, address: null };
    expect(isDrained(row, { now, inFlight: 0, processes: 'many' })).toBe(true);
  });
});

test('any response below 500 is healthy; a health path requires success', () => {
  const statuses = [200, 204, 302, 401, 404, 500, 503];
  expect(statuses.filter((status) => isHealthy(status, null))).toEqual([200, 204, 302, 401, 404]);
  expect(statuses.filter((status) => isHealthy(status, '/healthz'))).toEqual([200, 204, 302]);
});

test('values are hidden in logs, except those that everyone who sees the app knows', () => {
  expect(secretValues({ TOKEN: 'abcdef', SVC_APP: 'my-app-1', NODE_ENV: 'production' })).toEqual(['abcdef']);
});

describe('the number of instances', () => {
  const start_with = {
    health: { path: null, timeoutMs: 1 },
    env: {},
    processes: {
      worker: { command: 'a', instances: null },
      web: { command: null, instances: 2 },
      clock: { command: 'b', instances: 0 },
    },
  };
  const row = { method: 'docker', kind: 'deploy', start_with } as const;

  test('is what was scaled, else what svc.yaml says, else 1, with web first', () => {
    const scales = new Map([
      ['clock', 3],
      ['gone', 4],
    ]);
    expect(processScales(row, scales)).toEqual([
      { process: 'web', instances: 2, set_by: 'manifest' },
      { process: 'worker', instances: 1, set_by: 'default' },
      { process: 'clock', instances: 3, set_by: 'scale' },
    ]);
    expect(processScales({ ...row, start_with: null }, scales)).toEqual([
      { process: 'web', instances: 1, set_by: 'default' },
    ]);
    expect(processScales({ ...row, method: 'static' }, scales)).toEqual([]);
    expect(
      instanceSlots(processScales(row, new Map())).map((slot) => `${slot.process}${slot.index}`),
    ).toEqual(['web1', 'web2', 'worker1']);
  });

  test('that was scaled gives way to a new svc.yaml, not to an earlier build', () => {
    expect(replacedScales(row).sort()).toEqual(['clock', 'web']);
    for (const kind of ['rollback', 'restart', 'resume'] as const)
      expect(replacedScales({ ...row, kind })).toEqual([]);
  });
});
