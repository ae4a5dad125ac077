import { describe, expect, test } from 'bun:test';
import { bootstrapFailureCodes, bootstrapSteps } from '@svc/contract/bootstrap.ts';
import {
  backOffSeconds,
  failuresMax,
  followDeployment,
  isEnded,
  isMarked,
  judge,
  markedDescription,
  nextStep,
  type StepState,
  shownStep,
  undoCommands,
} from './rules.ts';

const steps = (...states: StepState[]) =>
  bootstrapSteps.map((name, at) => ({ name, state: states[at] ?? ('waiting' as const) }));

describe('which step is next', () => {
  test('the first that is not done, also where it was under way or ended by something that passes', () => {
    expect(nextStep(steps())).toBe('authorize');
    expect(nextStep(steps('done', 'done', 'running'))).toBe('create_repo');
    expect(nextStep(steps('done', 'waiting', 'done'))).toBe('reserve_app');
    expect(nextStep(steps('done', 'done', 'done', 'done', 'done', 'done'))).toBeNull();
  });

  test('a run shows what is under way, a failed one what failed, and one that is over nothing', () => {
    expect(shownStep('running', steps('done', 'done', 'running'))).toBe('create_repo');
    expect(shownStep('awaiting_approval', steps())).toBe('authorize');
    expect(shownStep('failed', steps('done', 'done', 'done', 'failed'))).toBe('seed_repo');
    expect(shownStep('canceled', steps('done', 'done'))).toBeNull();
    expect(shownStep('done', steps('done', 'done', 'done', 'done', 'done', 'done'))).toBeNull();
  });

  test('done, failed and canceled are ends', () => {
    expect((['awaiting_approval', 'running', 'done', 'failed', 'canceled'] as const).map(isEnded)).toEqual([
      ...[false, false, true, true, true],
    ]);
  });
});

describe('what an error means', () => {
  test('a git host or a database that does not answer may pass, and so may a fault', () => {
    expect(judge('git_host_unavailable', 'x')).toEqual({
      code: 'git_host_unavailable',
      isPassing: true,
      detail: 'x',
    });
    expect(judge('unreachable', '')).toMatchObject({ code: 'git_host_unavailable', isPassing: true });
    expect(judge('unavailable', '')).toMatchObject({ code: 'internal', isPassing: true });
    expect(judge(null, '')).toMatchObject({ code: 'internal', isPassing: true });
  });

  test('a refusal is final, and a code that a run does not know is a fault of ours', () => {
    for (const code of ['slug_taken', 'repo_exists', 'forbidden_by_org', 'push_rejected', 'hook_failed'])
      expect(judge(code, '')).toMatchObject({ code, isPassing: false });
    expect(judge('installation_mismatch', '').code).toBe('installation_missing');
    expect(judge('app_suspended', '').code).toBe('app_not_active');
    expect(judge('git_account_required', '').code).toBe('not_permitted');
    expect(judge('plan_stale', '')).toMatchObject({ code: 'internal', isPassing: false });
  });

  test('what comes out is always a code of the contract', () => {
    for (const code of ['not_found', 'already_connected', 'runtime_unsupported', 'toString', '__proto__'])
      expect(bootstrapFailureCodes).toContain(judge(code, '').code);
  });

  test('what passes is waited for longer each time, and not for ever', () => {
    const waits = Array.from({ length: failuresMax }, (_, at) => backOffSeconds(at + 1));
    expect(waits).toEqual([1, 2, 4, 8, null]);
  });
});

describe('the mark of a repository', () => {
  const id = '019a8000-0000-7000-8000-0000000000aa';
  test('is found again, and only that of this very run', () => {
    expect(isMarked(markedDescription('The app shop.', id), id)).toBe(true);
    expect(isMarked(markedDescription('The app shop.', id), id.replace('aa', 'ab'))).toBe(false);
    expect(isMarked(`${markedDescription('The app shop.', id)} and more`, id)).toBe(false);
    expect(isMarked('', id)).toBe(false);
  });
});

describe('a run follows its deployment', () => {
  const at = (state: string, facts: Partial<Parameters<typeof followDeployment>[0]> = {}) =>
    followDeployment({ state, hasEnded: false, failureCode: null, failureDetail: null, ...facts });

  test('it is done when that is live, was live, or waits for nothing but a review', () => {
    for (const state of ['live', 'superseded']) expect(at(state)).toEqual({ is: 'done' });
    expect(at('built', { hasEnded: true })).toEqual({ is: 'done' });
    for (const state of ['queued', 'building', 'built', 'releasing'])
      expect(at(state)).toEqual({ is: 'open' });
    expect(at('skipped')).toEqual({ is: 'replaced' });
  });

  test('its failure is told by what failed', () => {
    const failed = (failureCode: string) => at('failed', { failureCode, failureDetail: 'why' });
    expect(failed('build_failed')).toEqual({ is: 'failed', code: 'build_failed', detail: 'why' });
    expect(failed('health_check_failed')).toMatchObject({ code: 'health_check_failed' });
    expect(failed('lost')).toMatchObject({ code: 'deploy_failed' });
    expect(at('canceled')).toMatchObject({ is: 'failed', code: 'deploy_failed' });
  });
});

describe('how to undo', () => {
  const made = { app: { slug: 'shop', tenant: 'acme' }, repo: 'acme/shop' };
  const builtIn = { isBuiltIn: true, apiUrl: 'http://localhost:4400/git/api/v3' };

  test('names what a failed or canceled run made, and nothing of one that goes on or is done', () => {
    expect(undoCommands({ state: 'failed' }, made, builtIn)).toEqual([
      'svc apps delete shop --tenant acme --execute',
      'curl -X DELETE -H "Authorization: Bearer $SVC_TOKEN" http://localhost:4400/git/api/v3/repos/acme/shop' +
        ' # SVC_TOKEN is a login token; an operator issues one: svc-admin tokens issue --user <e-mail>',
    ]);
    expect(undoCommands({ state: 'canceled' }, { app: null, repo: null }, builtIn)).toEqual([]);
    for (const state of ['running', 'done', 'awaiting_approval'] as const)
      expect(undoCommands({ state }, made, builtIn)).toEqual([]);
  });

  test("at a host outside it is that host's own command", () => {
    const github = { isBuiltIn: false, apiUrl: '' };
    expect(undoCommands({ state: 'failed' }, made, github)[1]).toBe('gh repo delete acme/shop');
  });
});
