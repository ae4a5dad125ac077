import { expect, test } from 'bun:test';
import { visibilities } from '@svc/contract/apps.ts';
import { releasesKeptMax } from '@svc/contract/static-sites.ts';
import type { ReleaseRow } from './release-store.ts';
import { digestOf, expiring, manifestSum, mayShow, pointerOfDeploy, reviewedFor, rolesOf } from './rules.ts';

const files = [
  { path: 'a.html', sha256: 'a'.repeat(64), size: 1 },
  { path: 'b.html', sha256: 'b'.repeat(64), size: 2 },
];

test('a manifest is the same in whatever order it is listed, and another with any other path, sum, size or setting', () => {
  const sum = manifestSum(files, { spa: true });
  expect(manifestSum([...files].reverse(), { spa: true })).toBe(sum);
  const [a, b] = files as [(typeof files)[0], (typeof files)[0]];
  const others = [
    manifestSum([a], { spa: true }),
    manifestSum([a, { ...b, path: 'c.html' }], { spa: true }),
    manifestSum([a, { ...b, size: 3 }], { spa: true }),
    manifestSum(
      [
        { ...a, sha256: b.sha256 },
        { ...b, sha256: a.sha256 },
      ],
      { spa: true },
    ),
    manifestSum(files, {}),
  ];
  expect(new Set([sum, ...others]).size).toBe(6);
});

test('a digest is of the files and of what they are served with', () => {
  const of = (manifest: string, config: object) =>
    digestOf({ manifest_sha256: manifest, served_config: config });
  expect(of('1', { index: 'a', spa: true })).toBe(of('1', { spa: true, index: 'a' }));
  expect(new Set([of('1', {}), of('2', {}), of('1', { spa: true })]).size).toBe(3);
});

test('what was reviewed for fewer people than see the app is not shown', () => {
  const shown = visibilities.map((visibility) =>
    [null, 'invite_only' as const, 'public' as const, 'internet' as const].map((reviewed_for) =>
      mayShow({ visibility }, { active_release_id: 'other' }, { id: 'it', reviewed_for }),
    ),
  );
  expect(shown).toEqual([
    [true, true, true, true],
    [false, true, true, true],
    [false, false, true, true],
    [false, false, false, true],
  ]);
  for (const visibility of visibilities)
    expect(mayShow({ visibility }, { active_release_id: 'it' }, { id: 'it', reviewed_for: null })).toBe(true);
});

test('an approval counts for those who see the app, and never for fewer than before', () => {
  expect(visibilities.map((visibility) => reviewedFor({ visibility }, null))).toEqual([
    ...([null, 'invite_only', 'public', 'internet'] as const),
  ]);
  expect(reviewedFor({ visibility: 'private' }, 'public')).toBe('public');
  expect(reviewedFor({ visibility: 'invite_only' }, 'internet')).toBe('internet');
});

test('a deployment is shown where it may be, else staged, else only kept', () => {
  const to = (visibility: 'private' | 'public', staging_enabled: boolean) =>
    pointerOfDeploy(
      { visibility },
      { active_release_id: null, staging_enabled },
      { id: 'it', reviewed_for: null },
    );
  expect([to('private', true), to('private', false), to('public', true), to('public', false)]).toEqual([
    ...(['active', 'active', 'staged', null] as const),
  ]);
});

const made = (number: number, set: Partial<ReleaseRow> = {}) => ({
  id: String(number),
  number,
  state: 'finalized' as const,
  finalized_at: new Date(number * 1000),
  activated_at: null,
  ...set,
});

test('what expires is finalized, has no part to play and was used before those that are kept', () => {
  const all = Array.from({ length: releasesKeptMax + 6 }, (_, at) => made(at + 1));
  const site = { active_release_id: '1', staged_release_id: '2' };
  expect(expiring(all, site, { release_id: '3' }).map(({ id }) => id)).toEqual(['6', '5', '4']);
  // Shown again lately, so it is among the newest.
  const shown = all.map((it) => (it.id === '5' ? { ...it, activated_at: new Date(1e9) } : it));
  expect(expiring(shown, site, undefined).map(({ id }) => id)).toEqual(['7', '6', '4', '3']);
  const dead = all.map((it) => ({ ...it, state: 'draft' as const }));
  expect(expiring(dead, site, undefined)).toEqual([]);
});

test('roles follow from the pointers and the open promotion', () => {
  const site = { active_release_id: 'a', staged_release_id: 's' };
  const of = (id: string, set: Partial<ReleaseRow> = {}) =>
    rolesOf(site, { release_id: 's' }, { id, state: 'finalized', activated_at: null, ...set });
  expect(of('s')).toEqual(['staged', 'promote_requested']);
  expect(of('a', { activated_at: new Date() })).toEqual(['active']);
  expect(of('x', { activated_at: new Date() })).toEqual(['superseded']);
  expect(of('x', { activated_at: new Date(), state: 'revoked' })).toEqual([]);
  expect(of('x')).toEqual([]);
});
