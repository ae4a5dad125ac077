import { expect, test } from 'bun:test';
import { crumbsOf, nameWithin, previewKind } from './folder-paths.ts';

test('a prefix is the folders that lead to it', () => {
  expect(crumbsOf('')).toEqual([]);
  expect(crumbsOf('a/b c/')).toEqual([
    { name: 'a', prefix: 'a/' },
    { name: 'b c', prefix: 'a/b c/' },
  ]);
});

test('names are told without the folder that one is in', () => {
  expect([nameWithin('', 'a/'), nameWithin('a/', 'a/b/'), nameWithin('a/', 'a/b.txt')]).toEqual([
    ...['a', 'b', 'b.txt'],
  ]);
});

test('pictures and short texts can be looked at, the rest is downloaded', () => {
  const kinds = ['image/png', 'image/svg+xml', 'text/csv; charset=utf-8', 'application/ld+json', 'video/mp4'];
  expect(kinds.map((content_type) => previewKind({ content_type, size: 10 }))).toEqual([
    ...(['image', 'image', 'text', 'text', null] as const),
  ]);
  expect(previewKind({ content_type: 'text/plain', size: 1_000_000 })).toBeNull();
});
