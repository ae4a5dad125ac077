import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { distanceOf, suggest } from './suggest.ts';

const words = ['login', 'logout', 'whoami', 'grants', 'policies', 'pats', 'presets', 'version'];

test.each([
  ['grnats', 'grants'],
  ['grant', 'grants'],
  ['polices', 'policies'],
  ['Whoami', 'whoami'],
  ['pat', 'pats'],
  ['verison', 'version'],
  ['pol', 'policies'],
])('%s probably means %s', (typed, meant) => {
  expect(suggest(typed, words)).toBe(meant);
});

test.each(['zzz', 'x', '', 'deploy', 'apps'])('%j is too far from anything to guess', (typed) => {
  expect(suggest(typed, words)).toBeNull();
});

test('one slip in a word of four letters or more is always found', () => {
  const word = fc.constantFrom(...words);
  fc.assert(
    fc.property(word, fc.nat(), fc.constantFrom('drop', 'double', 'swap'), (meant, at, slip) => {
      const i = at % (meant.length - 1);
      const typed = {
        drop: meant.slice(0, i) + meant.slice(i + 1),
        double: meant.slice(0, i) + meant[i] + meant.slice(i),
        swap: meant.slice(0, i) + meant[i + 1] + meant[i] + meant.slice(i + 2),
      }[slip];
      expect(suggest(typed, words)).not.toBeNull();
      expect(distanceOf(typed, meant)).toBeLessThanOrEqual(1);
    }),
  );
});

test('the distance is the same in both directions, and nought only for equals', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
      if (a.length >= 2 && b.startsWith(a)) return;
      if (b.length >= 2 && a.startsWith(b)) return;
      expect(distanceOf(a, b)).toBe(distanceOf(b, a));
      expect(distanceOf(a, b) === 0).toBe(a === b);
    }),
  );
});
