import { describe, expect, test } from 'bun:test';
import { whyNotCancel, whyNotDeploy, whyNotRedeploy, whyNotRollBack } from './deployment-moves.ts';
import { type Deployment, durationText, isUnderWay, phasesOf, tookMs } from './deployment-phases.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const now = new Date(at(60));
const one = (set: Partial<Deployment>): Deployment => ({
  ...{ id: '1', app_id: '2', seq: 1, kind: 'deploy', trigger: 'person', state: 'queued', step: null },
  ...{ method: 'docker', source: 'repository', repo: 'a/b', ref: 'main', commit: null, commit_message: null },
  ...{ digest: null, rollback_of: null, release_id: null, failure: null, kept: false, url: null },
  ...{ created_by: null, created_at: at(0), started_at: null, built_at: null, live_at: null, ended_at: null },
  ...set,
});
const way = (set: Partial<Deployment>) =>
  phasesOf(one(set), now).map(({ state, ms }) => (ms === null ? state : `${state} ${ms / 1000}`));

describe('the way of a deployment', () => {
  const built = { started_at: at(2), built_at: at(10) };
  test.each<[string, Partial<Deployment>, string[]]>([
    ['that waits', {}, ['active 60', 'waiting', 'waiting', 'waiting']],
    [
      'that is built',
      { state: 'building', step: 'build', started_at: at(2) },
      ['done 2', 'active 58', 'waiting', 'waiting'],
    ],
    [
      'that is released',
      { state: 'releasing', step: 'health', ...built },
      ['done 2', 'done 8', 'active 50', 'waiting'],
    ],
    ['that is live', { state: 'live', ...built, live_at: at(15) }, ['done 2', 'done 8', 'done 5', 'done']],
    [
      'that could not be built',
      {
        ...{ state: 'failed', started_at: at(2), ended_at: at(9) },
        failure: { code: 'build_failed', step: 'build', detail: '', log_url: '' },
      },
      ['done 2', 'failed 7', 'waiting', 'waiting'],
    ],
    [
      'that never became healthy',
      {
        ...{ state: 'failed', ...built, ended_at: at(40) },
        failure: { code: 'health_check_failed', step: 'health', detail: '', log_url: '' },
      },
      ['done 2', 'done 8', 'failed 30', 'waiting'],
    ],
    [
      'that was skipped',
      { state: 'skipped', ended_at: at(1) },
      ['stopped 1', 'waiting', 'waiting', 'waiting'],
    ],
    [
      'that goes back',
      { kind: 'rollback', source: 'artifact', state: 'live', ...built, live_at: at(12) },
      ['done 2', 'done', 'done 2', 'done'],
    ],
  ])('%s', (_name, set, expected) => {
    expect(way(set)).toEqual(expected);
  });

  test('is over with its end, also where that is a wait for a review', () => {
    expect(isUnderWay(one({ state: 'built' }))).toBe(true);
    expect(isUnderWay(one({ state: 'built', ended_at: at(3) }))).toBe(false);
    expect(isUnderWay(one({ state: 'live' }))).toBe(false);
    expect(tookMs(one({ started_at: at(2), live_at: at(9), ended_at: at(50) }), now)).toBe(7_000);
    expect([durationText(null), durationText(300), durationText(61_000)]).toEqual([
      '–',
      'under 1 s',
      '1 min 1 s',
    ]);
  });
});

describe('what can be done with a deployment', () => {
  test('is said as the server would decide', () => {
    const can = (why: string | null) => why === null;
    const states = ['queued', 'building', 'built', 'releasing', 'live', 'failed'] as const;
    expect(states.map((state) => can(whyNotCancel(one({ state }))))).toEqual([
      ...[true, true, true],
      ...[false, false, false],
    ]);
    const past = { state: 'superseded', live_at: at(1) } as const;
    expect(can(whyNotRollBack(one({ ...past, kept: true })))).toBe(true);
    expect(whyNotRollBack(one(past))).toContain('not kept');
    expect(whyNotRollBack(one({ state: 'failed' }))).toContain('never live');
    expect(whyNotDeploy({ record: 'active', runtime: 'suspended' })).toContain('resume');
    expect(can(whyNotDeploy({ record: 'active', runtime: 'none' }))).toBe(true);
    expect(can(whyNotRedeploy({ commit: 'abc' }, true))).toBe(true);
    expect(whyNotRedeploy({ commit: null }, true)).toContain('uploaded');
  });
});
