import { expect, test } from 'bun:test';
import { breadcrumbs, nameWithin, previewKind } from './folder-paths.ts';

test('a prefix is split into breadcrumbs', () => {
  expect(breadcrumbs('')).toEqual([]);
  expect(breadcrumbs('a/b c/')).toEqual([
    { name: 'a', prefix: 'a/' },
    { name: 'b c', prefix: 'a/b c/' },
  ]);
});

test('names omit the current folder', () => {
  expect([nameWithin('', 'a/'), nameWithin('a/', 'a/b/'), nameWithin('a/', 'a/b.txt')]).toEqual([
    'a',
    'b',
    'b.txt',
  ]);
});

test('images and short texts have a preview', () => {
  const kinds = ['image/png', 'image/svg+xml', 'text/csv; charset=utf-8', 'application/ld+json', 'video/mp4'];
  expect(kinds.map((content_type) => previewKind({ content_type, size: 10 }))).toEqual([
    ...(['image', 'image', 'text', 'text', null] as const),
  ]);
  expect(previewKind({ content_type: 'text/plain', size: 1_000_000 })).toBeNull();
});
