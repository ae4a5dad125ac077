import { expect, test } from 'bun:test';
import { appMoveNames, appRecords, appRuntimes, moveApp } from '@svc/contract/app-states.ts';
import {
  appState,
  availableMove,
  whyNotActive,
  whyNotInUse,
  whyNotMoveApp,
  whyNotPublish,
  whyNotRemove,
  whyNotVisit,
} from './rules.ts';

test('every inactive record has its own reason and names the way back', () => {
  const reasons = appRecords.map((record) => whyNotActive({ record }));
  expect(reasons.filter((reason) => reason === null)).toHaveLength(1);
  expect(new Set(reasons).size).toBe(appRecords.length);
  expect(whyNotActive({ record: 'deleted' })).toContain('Restore');
  expect(whyNotActive({ record: 'archived' })).toContain('Reactivate');
});

test('a suspended app is active but not in use; the record state takes precedence', () => {
  expect(whyNotActive({ record: 'active' })).toBeNull();
  expect(whyNotInUse({ record: 'active', runtime: 'running' })).toBeNull();
  expect(whyNotInUse({ record: 'active', runtime: 'suspended' })).toContain('Resume');
  expect(whyNotInUse({ record: 'deleted', runtime: 'suspended' })).toContain('Restore');
});

test('visibility and relation decide who can open an app', () => {
  const may = (visibility: Parameters<typeof whyNotVisit>[0]['visibility']) =>
    (['owner', 'co_owner', 'member', 'none'] as const).filter(
      (relation) => whyNotVisit({ visibility, relation }) === null,
    );
  expect(may('private')).toEqual(['owner', 'co_owner']);
  expect(may('invite_only')).toEqual(['owner', 'co_owner', 'member']);
  expect(may('public')).toEqual(['owner', 'co_owner', 'member', 'none']);
  expect(may('internet')).toEqual(['owner', 'co_owner', 'member', 'none']);
});

test('every refused move has its own reason, every possible move none', () => {
  for (const move of appMoveNames) {
    for (const record of appRecords) {
      for (const runtime of appRuntimes) {
        const why = whyNotMoveApp(move, { record, runtime });
        const changes = ['moves', 'purged'].includes(moveApp(move, { record, runtime }).kind);
        expect([move, record, runtime, why === null]).toEqual([move, record, runtime, changes]);
        expect(why).not.toBe('Not possible in this state.');
      }
    }
  }
});

test('of two opposite moves the possible one is offered', () => {
  const running = { record: 'active', runtime: 'running' } as const;
  expect(availableMove(['suspend', 'resume'], running)).toBe('suspend');
  expect(availableMove(['suspend', 'resume'], { ...running, runtime: 'suspended' })).toBe('resume');
  expect(availableMove(['archive', 'reactivate'], { ...running, record: 'archived' })).toBe('reactivate');
  expect(availableMove(['delete', 'restore'], { ...running, record: 'deleted' })).toBe('restore');
});

const publishable = {
  record: 'active',
  runtime: 'running',
  deployment_status: 'deployed',
  visibility: 'private',
} as const;
const noRequest = { hasOpen: false, hasStaged: false };

test('a running app that is not visible to everybody can be published', () => {
  expect(whyNotPublish(publishable, noRequest)).toBeNull();
  expect(whyNotPublish({ ...publishable, visibility: 'public' }, noRequest)).toBeNull();
});

test('each state that prevents publication explains what to do first', () => {
  expect(whyNotPublish({ ...publishable, record: 'archived' }, noRequest)).toContain('Reactivate');
  expect(whyNotPublish({ ...publishable, record: 'deleted' }, noRequest)).toContain('Restore');
  expect(whyNotPublish({ ...publishable, runtime: 'suspended' }, noRequest)).toContain('Resume');
  expect(whyNotPublish({ ...publishable, visibility: 'internet' }, noRequest)).toContain('already');
  expect(whyNotPublish(publishable, { ...noRequest, hasOpen: true })).toContain('Withdraw');
  expect(whyNotPublish({ ...publishable, deployment_status: 'draft' }, noRequest)).toContain('Deploy');
});

test('a staged release can be published before anything is live', () => {
  expect(
    whyNotPublish({ ...publishable, deployment_status: 'draft' }, { ...noRequest, hasStaged: true }),
  ).toBeNull();
});

const carl = { role: 'co_owner', user_id: 'carl' } as const;
const mia = { role: 'member', user_id: 'mia' } as const;
const ownerCaller = { id: 'olga', role: 'tenant_member', relation: 'owner' } as const;
const coOwnerCaller = { id: 'carl', role: 'tenant_member', relation: 'co_owner' } as const;
const otherCoOwnerCaller = { ...coOwnerCaller, id: 'cora' };
const adminCaller = { id: 'ada', role: 'tenant_admin', relation: 'none' } as const;

test('a co-owner is removed by the owner, an admin or themselves, not by another co-owner', () => {
  for (const one of [ownerCaller, adminCaller, coOwnerCaller]) expect(whyNotRemove(carl, one)).toBeNull();
  expect(whyNotRemove(carl, otherCoOwnerCaller)).toBe('Only its owner and tenant admins may do this.');
});

test('invited people are removed by owners and admins', () => {
  for (const one of [ownerCaller, coOwnerCaller, adminCaller]) expect(whyNotRemove(mia, one)).toBeNull();
});

test('the owner cannot be removed', () => {
  for (const one of [ownerCaller, adminCaller, coOwnerCaller])
    expect(whyNotRemove({ role: 'owner', user_id: 'olga' }, one)).toContain('transferring');
});

test('an app whose instances all sleep is asleep, not running', () => {
  const running = { record: 'active', runtime: 'running' } as const;
  const [asleep, ready] = [{ state: 'asleep' }, { state: 'ready' }];
  expect(appState(running, [asleep, asleep])).toBe('asleep');
  expect(appState(running, [asleep, ready])).toBe('running');
  expect(appState(running, [])).toBe('running');
  expect(appState({ record: 'active', runtime: 'suspended' }, [asleep])).toBe('suspended');
  expect(appState({ record: 'archived', runtime: 'suspended' }, [])).toBe('archived');
});
