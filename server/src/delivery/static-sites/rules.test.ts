import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { visibilities } from '@svc/contract/apps.ts';
import { retainedReleasesMax } from '@svc/contract/static-sites.ts';
import { compress } from './blobs.ts';
import type { ReleaseRow } from './release-store.ts';
import {
  canActivate,
  deployPointer,
  manifestDigest,
  releaseDigest,
  releaseRoles,
  reviewedVisibility,
  selectExpired,
} from './rules.ts';

const files = [
  { path: 'a.html', sha256: 'a'.repeat(64), size: 1 },
  { path: 'b.html', sha256: 'b'.repeat(64), size: 2 },
];

test('the manifest digest depends on paths, digests, sizes and settings, not on order', () => {
  const sum = manifestDigest(files, { spa: true });
  expect(manifestDigest([...files].reverse(), { spa: true })).toBe(sum);
  const [a, b] = files as [(typeof files)[0], (typeof files)[0]];
  const others = [
    manifestDigest([a], { spa: true }),
    manifestDigest([a, { ...b, path: 'c.html' }], { spa: true }),
    manifestDigest([a, { ...b, size: 3 }], { spa: true }),
    manifestDigest(
      [
        { ...a, sha256: b.sha256 },
        { ...b, sha256: a.sha256 },
      ],
      { spa: true },
    ),
    manifestDigest(files, {}),
  ];
  expect(new Set([sum, ...others]).size).toBe(6);
});

test('the release digest covers files and configuration', () => {
  const of = (manifest: string, config: object) =>
    releaseDigest({ manifest_sha256: manifest, served_config: config });
  expect(of('1', { index: 'a', spa: true })).toBe(of('1', { spa: true, index: 'a' }));
  expect(new Set([of('1', {}), of('2', {}), of('1', { spa: true })]).size).toBe(3);
});

test('a release reviewed for a narrower visibility cannot be activated', () => {
  const shown = visibilities.map((visibility) =>
    [null, 'invite_only' as const, 'public' as const, 'internet' as const].map((reviewed_for) =>
      canActivate({ visibility }, { active_release_id: 'other' }, { id: 'it', reviewed_for }),
    ),
  );
  expect(shown).toEqual([
    [true, true, true, true],
    [false, true, true, true],
    [false, false, true, true],
    [false, false, false, true],
  ]);
  for (const visibility of visibilities)
    expect(canActivate({ visibility }, { active_release_id: 'it' }, { id: 'it', reviewed_for: null })).toBe(
      true,
    );
});

test('an approval counts for the visibility of the app, and never for less than before', () => {
  expect(visibilities.map((visibility) => reviewedVisibility({ visibility }, null))).toEqual([
    ...([null, 'invite_only', 'public', 'internet'] as const),
  ]);
  expect(reviewedVisibility({ visibility: 'private' }, 'public')).toBe('public');
  expect(reviewedVisibility({ visibility: 'invite_only' }, 'internet')).toBe('internet');
});

test('a deployment becomes active, staged or only finalized', () => {
  const to = (visibility: 'private' | 'public', staging_enabled: boolean) =>
    deployPointer(
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

test('finalized releases without a role expire, the least recently used first', () => {
  const all = Array.from({ length: retainedReleasesMax + 6 }, (_, at) => made(at + 1));
  const site = { active_release_id: '1', staged_release_id: '2' };
  expect(selectExpired(all, site, { release_id: '3' }).map(({ id }) => id)).toEqual(['6', '5', '4']);
  // Recently activated again, so among the newest.
  const shown = all.map((it) => (it.id === '5' ? { ...it, activated_at: new Date(1e9) } : it));
  expect(selectExpired(shown, site, undefined).map(({ id }) => id)).toEqual(['7', '6', '4', '3']);
  const dead = all.map((it) => ({ ...it, state: 'draft' as const }));
  expect(selectExpired(dead, site, undefined)).toEqual([]);
});

test('roles follow from the pointers and the open promotion', () => {
  const site = { active_release_id: 'a', staged_release_id: 's' };
  const of = (id: string, set: Partial<ReleaseRow> = {}) =>
    releaseRoles(site, { release_id: 's' }, { id, state: 'finalized', activated_at: null, ...set });
  expect(of('s')).toEqual(['staged', 'promote_requested']);
  expect(of('a', { activated_at: new Date() })).toEqual(['active']);
  expect(of('x', { activated_at: new Date() })).toEqual(['superseded']);
  expect(of('x', { activated_at: new Date(), state: 'revoked' })).toEqual([]);
  expect(of('x')).toEqual([]);
});

const page = (bytes: number) =>
  Buffer.from('<p>All of this is one line.</p>\n'.repeat(bytes / 30).slice(0, bytes));

test('text is compressed with gzip and brotli', async () => {
  for (const bytes of [256, 4_000, 200_000, 1_500_000]) {
    const text = page(bytes);
    const { gzip, br } = await compress(text);
    expect([bytes, gunzipSync(gzip ?? '').equals(text)]).toEqual([bytes, true]);
    expect([bytes, brotliDecompressSync(br ?? '').equals(text)]).toEqual([bytes, true]);
    expect(Math.max(gzip?.byteLength ?? 0, br?.byteLength ?? 0)).toBeLessThanOrEqual(text.byteLength * 0.9);
  }
});

test('incompressible, tiny and very large files are not compressed', async () => {
  const none = { gzip: null, br: null };
  for (const bytes of [300, 60_000, 200_000]) expect(await compress(randomBytes(bytes))).toEqual(none);
  expect(await compress(page(255))).toEqual(none);
  expect(await compress(page(8 * 1024 * 1024 + 1))).toEqual(none);
  expect(await compress(new Uint8Array())).toEqual(none);
});
