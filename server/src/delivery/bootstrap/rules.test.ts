import { describe, expect, test } from 'bun:test';
import { bootstrapFailureCodes, bootstrapSteps } from '@svc/contract/bootstrap.ts';
import {
  classify,
  currentStep,
  failuresMax,
  followDeployment,
  isEnded,
  isMarked,
  markedDescription,
  nextStep,
  retryDelaySeconds,
  type StepState,
  undoCommands,
} from './rules.ts';

const steps = (...states: StepState[]) =>
  bootstrapSteps.map((name, at) => ({ name, state: states[at] ?? ('waiting' as const) }));

describe('the next step', () => {
  test('is the first that is not done, even if it was started or failed temporarily', () => {
    expect(nextStep(steps())).toBe('authorize');
    expect(nextStep(steps('done', 'done', 'running'))).toBe('create_repo');
    expect(nextStep(steps('done', 'waiting', 'done'))).toBe('reserve_app');
    expect(nextStep(steps('done', 'done', 'done', 'done', 'done', 'done'))).toBeNull();
  });

  test('is the running step, the failed step of a failed run, and null for an ended run', () => {
    expect(currentStep('running', steps('done', 'done', 'running'))).toBe('create_repo');
    expect(currentStep('awaiting_approval', steps())).toBe('authorize');
    expect(currentStep('failed', steps('done', 'done', 'done', 'failed'))).toBe('seed_repo');
    expect(currentStep('canceled', steps('done', 'done'))).toBeNull();
    expect(currentStep('done', steps('done', 'done', 'done', 'done', 'done', 'done'))).toBeNull();
  });

  test('done, failed and canceled are ends', () => {
    expect((['awaiting_approval', 'running', 'done', 'failed', 'canceled'] as const).map(isEnded)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });
});

describe('classification of errors', () => {
  test('an unavailable git host or database and an internal error are temporary', () => {
    expect(classify('git_host_unavailable', 'x')).toEqual({
      code: 'git_host_unavailable',
      isTemporary: true,
      detail: 'x',
    });
    expect(classify('unreachable', '')).toMatchObject({ code: 'git_host_unavailable', isTemporary: true });
    expect(classify('unavailable', '')).toMatchObject({ code: 'internal', isTemporary: true });
    expect(classify(null, '')).toMatchObject({ code: 'internal', isTemporary: true });
  });

  test('a refusal is final, and an unknown code is an internal error', () => {
    for (const code of ['slug_taken', 'repo_exists', 'forbidden_by_org', 'push_rejected', 'hook_failed'])
      expect(classify(code, '')).toMatchObject({ code, isTemporary: false });
    expect(classify('installation_mismatch', '').code).toBe('installation_missing');
    expect(classify('app_suspended', '').code).toBe('app_not_active');
    expect(classify('git_account_required', '').code).toBe('not_permitted');
    expect(classify('plan_stale', '')).toMatchObject({ code: 'internal', isTemporary: false });
  });

  test('the result is always a code of the contract', () => {
    for (const code of ['not_found', 'already_connected', 'runtime_unsupported', 'toString', '__proto__'])
      expect(bootstrapFailureCodes).toContain(classify(code, '').code);
  });

  test('delays between retries grow, and the number of retries is limited', () => {
    const waits = Array.from({ length: failuresMax }, (_, at) => retryDelaySeconds(at + 1));
    expect(waits).toEqual([1, 2, 4, 8, null]);
  });
});

describe('the mark of a repository', () => {
  const id = '019a8000-0000-7000-8000-0000000000aa';
  test('identifies exactly the run that created the repository', () => {
    expect(isMarked(markedDescription('The app shop.', id), id)).toBe(true);
    expect(isMarked(markedDescription('The app shop.', id), id.replace('aa', 'ab'))).toBe(false);
    expect(isMarked(`${markedDescription('The app shop.', id)} and more`, id)).toBe(false);
    expect(isMarked('', id)).toBe(false);
  });
});

describe('a run follows its deployment', () => {
  type Deployment = Parameters<typeof followDeployment>[0];
  const at = (state: Deployment['state'], facts: Partial<Deployment> = {}) =>
    followDeployment({ state, ended_at: null, failure_code: null, failure_detail: null, ...facts });

  test('it is done when the deployment is live, was live or needs a review', () => {
    for (const state of ['live', 'superseded'] as const) expect(at(state)).toEqual({ is: 'done' });
    expect(at('built', { ended_at: new Date() })).toEqual({ is: 'done' });
    for (const state of ['queued', 'building', 'built', 'releasing'] as const)
      expect(at(state)).toEqual({ is: 'open' });
    expect(at('skipped')).toEqual({ is: 'replaced' });
  });

  test('its failure code follows from the failure of the deployment', () => {
    const failed = (failure_code: Deployment['failure_code']) =>
      at('failed', { failure_code, failure_detail: 'why' });
    expect(failed('build_failed')).toEqual({ is: 'failed', code: 'build_failed', detail: 'why' });
    expect(failed('health_check_failed')).toMatchObject({ code: 'health_check_failed' });
    expect(failed('lost')).toMatchObject({ code: 'deploy_failed' });
    expect(at('canceled')).toMatchObject({ is: 'failed', code: 'deploy_failed' });
  });
});

describe('undo commands', () => {
  const made = { app: { slug: 'shop', tenant: 'acme' }, repo: 'acme/shop' };
  const builtIn = { isBuiltIn: true, apiUrl: 'http://localhost:4400/git/api/v3' };

  test('name what a failed or canceled run created, and nothing for other runs', () => {
    expect(undoCommands({ state: 'failed' }, made, builtIn)).toEqual([
      'svc apps delete shop --tenant acme --execute',
      'curl -X DELETE -H "Authorization: Bearer $SVC_TOKEN" http://localhost:4400/git/api/v3/repos/acme/shop' +
        ' # SVC_TOKEN is a login token; an operator issues one: svc-admin tokens issue --user <e-mail>',
    ]);
    expect(undoCommands({ state: 'canceled' }, { app: null, repo: null }, builtIn)).toEqual([]);
    for (const state of ['running', 'done', 'awaiting_approval'] as const)
      expect(undoCommands({ state }, made, builtIn)).toEqual([]);
  });

  test('use the command of an external host', () => {
    const github = { isBuiltIn: false, apiUrl: '' };
    expect(undoCommands({ state: 'failed' }, made, github)[1]).toBe('gh repo delete acme/shop');
  });
});
