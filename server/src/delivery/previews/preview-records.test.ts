import { expect, test } from 'bun:test';
import { slugPattern } from '@svc/contract/limits.ts';
import { previewSlugCharsMax } from '../../apps/record/preview-apps.ts';
import { branchSlug } from './preview-records.ts';

const free = { charsMax: 40, isTaken: () => false };

test('the name of a branch becomes a part of a host', () => {
  expect(branchSlug('feature/Login_2', free)).toBe('feature-login-2');
  expect(branchSlug('x--staging', free)).toBe('x-staging');
  expect(branchSlug('-a.b-', free)).toBe('a-b');
});

test('a name that is cut, taken, or no label ends with a hash of the branch', () => {
  const taken = { charsMax: 40, isTaken: (slug: string) => slug === 'feature-x' };
  expect(branchSlug('feature/x', taken)).toMatch(/^feature-x-[0-9a-f]{6}$/);
  for (const branch of ['123', 'x', 'xn', '日本', 'a'.repeat(200)]) {
    const slug = branchSlug(branch, { ...free, charsMax: 12 });
    expect([slug, slug.length <= 12, slugPattern.test(`${slug}--shop`), slug.includes('--')]).toEqual([
      expect.stringMatching(/-[0-9a-f]{6}$/),
      true,
      true,
      false,
    ]);
  }
  expect(branchSlug('a'.repeat(200), free)).not.toBe(branchSlug('a'.repeat(201), free));
});

test('an app named staging has no hosts for previews: they are those of other apps', () => {
  expect([previewSlugCharsMax('staging'), previewSlugCharsMax(null), previewSlugCharsMax('shop')]).toEqual([
    0, 0, 57,
  ]);
});
