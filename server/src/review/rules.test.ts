import { describe, expect, test } from 'bun:test';
import { type Deployed, isSamePin, mayLook, type Pin, pinFor, stands, statusOf } from './rules.ts';

const release = (id: string, digest = `sum of ${id}`, deployment_id: string | null = null) => ({
  ...{ deployment_id, release_id: id, digest },
});
const running = (deployment_id: string, digest = 'image') => ({ deployment_id, release_id: null, digest });
const deployed = (live: Deployed['live'], staged: Deployed['staged'] = null): Deployed => ({ live, staged });

describe('what a request is of', () => {
  test('is what is live where nothing is named, never what is staged', () => {
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

describe('a request stands', () => {
  const live: Pin = { ...release('a'), pinned: 'live' };
  const staged: Pin = { ...release('a'), pinned: 'staged' };

  test('as long as the very same content is deployed', () => {
    expect(stands(live, deployed(release('a')))).toBe(true);
    expect(stands(live, deployed(release('a', 'served otherwise')))).toBe(false);
    expect(stands(live, deployed(release('b', live.digest)))).toBe(false);
    expect(stands(live, deployed(null))).toBe(false);
  });

  test('whichever deployment has brought a release, and never for another deployment that runs', () => {
    expect(stands(live, deployed(release('a', undefined, 'd9')))).toBe(true);
    expect(stands({ ...running('d1'), pinned: 'live' }, deployed(running('d1')))).toBe(true);
    expect(stands({ ...running('d1'), pinned: 'live' }, deployed(running('d2')))).toBe(false);
    expect(stands(live, deployed(running('d1', live.digest)))).toBe(false);
  });

  test('of what was staged while it is staged, or live by now; of what was live never while it is only staged', () => {
    expect(stands(staged, deployed(release('b'), release('a')))).toBe(true);
    expect(stands(staged, deployed(release('a')))).toBe(true);
    expect(stands(staged, deployed(release('a', 'served otherwise'), release('c')))).toBe(false);
    expect(stands(live, deployed(release('b'), release('a')))).toBe(false);
  });

  test('and two are of the same where content and place are', () => {
    expect(isSamePin(live, { ...live, deployment_id: 'd9' })).toBe(true);
    expect(isSamePin(live, staged)).toBe(false);
  });
});

test('a request that waits is expired from the very moment on', () => {
  const expires_at = new Date('2031-05-01T12:00:00Z');
  const at = (ms: number) => new Date(expires_at.getTime() + ms);
  expect(statusOf({ status: 'pending', expires_at }, at(-1))).toBe('pending');
  expect(statusOf({ status: 'pending', expires_at }, at(0))).toBe('expired');
  expect(statusOf({ status: 'approved', expires_at }, at(1))).toBe('approved');
});

test('of a request know who owns the app now, and admins', () => {
  const by = (
    relation: 'owner' | 'co_owner' | 'member' | 'none',
    role: 'tenant_admin' | 'tenant_member' = 'tenant_member',
  ) => mayLook({ relation, role });
  expect([by('owner'), by('co_owner'), by('none', 'tenant_admin')]).toEqual([true, true, true]);
  expect([by('member'), by('none')]).toEqual([false, false]);
});
