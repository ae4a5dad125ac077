import { describe, expect, test } from 'bun:test';
import {
  canSeeRequest,
  currentStatus,
  type Deployed,
  isSamePin,
  isStillDeployed,
  type Pin,
  pinFor,
} from './rules.ts';

const release = (id: string, digest = `sum of ${id}`, deployment_id: string | null = null) => ({
  deployment_id,
  release_id: id,
  digest,
});
const running = (deployment_id: string, digest = 'image') => ({ deployment_id, release_id: null, digest });
const deployed = (
  live: Deployed['live'],
  staged: Deployed['staged'] = null,
  built: Deployed['built'] = null,
): Deployed => ({ live, staged, built });

describe('the content of a request', () => {
  test('is the live one by default, never the staged one', () => {
    expect(pinFor(undefined, deployed(release('a'), release('b')))).toEqual({
      ...release('a'),
      pinned: 'live',
    });
    expect(pinFor(undefined, deployed(null, release('b')))).toBeUndefined();
  });

  test('is named by its deployment, or by the release itself', () => {
    const both = deployed(release('a', 'x', 'd1'), release('b', 'y', 'd2'));
    expect(['d1', 'a', 'd2', 'b', 'c'].map((name) => pinFor(name, both)?.pinned ?? 'none')).toEqual([
      ...(['live', 'live', 'staged', 'staged', 'none'] as const),
    ]);
    expect(pinFor('d2', deployed(running('d1')))).toBeUndefined();
  });
});

describe('a request stays valid', () => {
  const live: Pin = { ...release('a'), pinned: 'live' };
  const staged: Pin = { ...release('a'), pinned: 'staged' };

  test('while the same content is deployed', () => {
    expect(isStillDeployed(live, deployed(release('a')))).toBe(true);
    expect(isStillDeployed(live, deployed(release('a', 'served otherwise')))).toBe(false);
    expect(isStillDeployed(live, deployed(release('b', live.digest)))).toBe(false);
    expect(isStillDeployed(live, deployed(null))).toBe(false);
  });

  test('for a release of any deployment, but not for another running deployment', () => {
    expect(isStillDeployed(live, deployed(release('a', undefined, 'd9')))).toBe(true);
    expect(isStillDeployed({ ...running('d1'), pinned: 'live' }, deployed(running('d1')))).toBe(true);
    expect(isStillDeployed({ ...running('d1'), pinned: 'live' }, deployed(running('d2')))).toBe(false);
    expect(isStillDeployed(live, deployed(running('d1', live.digest)))).toBe(false);
  });

  test('for staged content while it is staged or live; for live content only while it is live', () => {
    expect(isStillDeployed(staged, deployed(release('b'), release('a')))).toBe(true);
    expect(isStillDeployed(staged, deployed(release('a')))).toBe(true);
    expect(isStillDeployed(staged, deployed(release('a', 'served otherwise'), release('c')))).toBe(false);
    expect(isStillDeployed(live, deployed(release('b'), release('a')))).toBe(false);
  });

  test('and two are equal if content and pointer are', () => {
    expect(isSamePin(live, { ...live, deployment_id: 'd9' })).toBe(true);
    expect(isSamePin(live, staged)).toBe(false);
  });
});

test('a pending request is expired from the moment of its expiry', () => {
  const expires_at = new Date('2031-05-01T12:00:00Z');
  const at = (ms: number) => new Date(expires_at.getTime() + ms);
  expect(currentStatus({ status: 'pending', expires_at }, at(-1))).toBe('pending');
  expect(currentStatus({ status: 'pending', expires_at }, at(0))).toBe('expired');
  expect(currentStatus({ status: 'approved', expires_at }, at(1))).toBe('approved');
});

test('current owners and admins can see a request', () => {
  const by = (
    relation: 'owner' | 'co_owner' | 'member' | 'none',
    role: 'tenant_admin' | 'tenant_member' = 'tenant_member',
  ) => canSeeRequest({ relation, role });
  expect([by('owner'), by('co_owner'), by('none', 'tenant_admin')]).toEqual([true, true, true]);
  expect([by('member'), by('none')]).toEqual([false, false]);
});
