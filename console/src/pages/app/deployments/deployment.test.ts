import { describe, expect, test } from 'bun:test';
import {
  type Deployment,
  deploymentMs,
  deploymentPhases,
  formatDuration,
  isInProgress,
  stateText,
  whyNotCancel,
  whyNotDeploy,
  whyNotRedeploy,
  whyNotRollBack,
} from './deployment.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const now = new Date(at(60));
const one = (set: Partial<Deployment>): Deployment => ({
  id: '1',
  app_id: '2',
  seq: 1,
  kind: 'deploy',
  trigger: 'person',
  state: 'queued',
  queue_position: null,
  step: null,
  method: 'docker',
  source: 'repository',
  repo: 'a/b',
  ref: 'main',
  commit: null,
  commit_message: null,
  digest: null,
  rollback_of: null,
  release_id: null,
  failure: null,
  review: null,
  kept: false,
  url: null,
  created_by: null,
  created_at: at(0),
  started_at: null,
  built_at: null,
  live_at: null,
  ended_at: null,
  ...set,
});
const way = (set: Partial<Deployment>) =>
  deploymentPhases(one(set), now).map(({ state, ms }) => (ms === null ? state : `${state} ${ms / 1000}`));

test('a queued deployment shows its position', () => {
  const queued = one({ queue_position: 3 });
  expect(stateText(queued)).toBe('queued, position 3');
  expect(deploymentPhases(queued, now)[0]?.detail).toBe('position 3');
});

describe('deployment phases', () => {
  const built = { started_at: at(2), built_at: at(10) };
  test.each<[string, Partial<Deployment>, string[]]>([
    ['queued', {}, ['active 60', 'waiting', 'waiting', 'waiting']],
    [
      'building',
      { state: 'building', step: 'build', started_at: at(2) },
      ['done 2', 'active 58', 'waiting', 'waiting'],
    ],
    [
      'releasing',
      { state: 'releasing', step: 'health', ...built },
      ['done 2', 'done 8', 'active 50', 'waiting'],
    ],
    ['live', { state: 'live', ...built, live_at: at(15) }, ['done 2', 'done 8', 'done 5', 'done']],
    [
      'failed build',
      {
        state: 'failed',
        started_at: at(2),
        ended_at: at(9),
        failure: { code: 'build_failed', step: 'build', detail: '', log_url: '' },
      },
      ['done 2', 'failed 7', 'waiting', 'waiting'],
    ],
    [
      'failed health check',
      {
        state: 'failed',
        ...built,
        ended_at: at(40),
        failure: { code: 'health_check_failed', step: 'health', detail: '', log_url: '' },
      },
      ['done 2', 'done 8', 'failed 30', 'waiting'],
    ],
    ['skipped', { state: 'skipped', ended_at: at(1) }, ['stopped 1', 'waiting', 'waiting', 'waiting']],
    [
      'rollback',
      { kind: 'rollback', source: 'artifact', state: 'live', ...built, live_at: at(12) },
      ['done 2', 'done', 'done 2', 'done'],
    ],
  ])('%s', (_name, set, expected) => {
    expect(way(set)).toEqual(expected);
  });

  test('a deployment that waits for review has ended', () => {
    expect(isInProgress(one({ state: 'built' }))).toBe(true);
    expect(isInProgress(one({ state: 'built', ended_at: at(3) }))).toBe(false);
    expect(isInProgress(one({ state: 'live' }))).toBe(false);
    expect(deploymentMs(one({ started_at: at(2), live_at: at(9), ended_at: at(50) }), now)).toBe(7_000);
    expect([formatDuration(null), formatDuration(300), formatDuration(61_000)]).toEqual([
      '–',
      'under 1 s',
      '1 min 1 s',
    ]);
  });
});

describe('deployment actions', () => {
  test('follow the rules of the server', () => {
    const can = (why: string | null) => why === null;
    const states = ['queued', 'building', 'built', 'releasing', 'live', 'failed'] as const;
    expect(states.map((state) => can(whyNotCancel(one({ state }))))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    const past = { state: 'superseded', live_at: at(1) } as const;
    expect(can(whyNotRollBack(one({ ...past, kept: true })))).toBe(true);
    expect(whyNotRollBack(one(past))).toContain('no longer stored');
    expect(whyNotRollBack(one({ state: 'failed' }))).toContain('never live');
    expect(whyNotDeploy({ record: 'active', runtime: 'suspended' })).toContain('Resume');
    expect(can(whyNotDeploy({ record: 'active', runtime: 'none' }))).toBe(true);
    expect(can(whyNotRedeploy({ commit: 'abc' }, true))).toBe(true);
    expect(whyNotRedeploy({ commit: null }, true)).toContain('uploaded');
  });
});
