import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { matchesClaimPattern, matchesClaims, tokenActions } from './store.ts';

test.each([
  ['acme/shop', 'acme/shop', true],
  ['acme/shop', 'acme/shop2', false],
  ['acme/*', 'acme/web/shop', true],
  ['acme/*', 'acmes/shop', false],
  ['*/shop', 'evil/shop', true],
  ['refs/tags/v*.*', 'refs/tags/v1.2', true],
  ['refs/tags/v*.*', 'refs/tags/v1', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a.c', 'abc', false],
  ['*x*', 'axb', true],
])('the pattern %j and %j', (pattern, text, expected) => {
  expect(matchesClaimPattern(pattern, text)).toBe(expected);
});

test('a pattern matches like a regular expression whose only special sign is *', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: 12 });
  fc.assert(
    fc.property(text, text, (pattern, value) => {
      const parts = pattern.split('*').map((part) => part.replaceAll('.', '\\.'));
      expect(matchesClaimPattern(pattern, value)).toBe(new RegExp(`^${parts.join('.*')}$`).test(value));
    }),
  );
});

test('every claim must be there, and a rule without claims matches nothing', () => {
  const rule = { repository: 'acme/shop', ref: 'refs/heads/*' };
  expect(matchesClaims(rule, { repository: 'acme/shop', ref: 'refs/heads/main' })).toBe(true);
  expect(matchesClaims(rule, { repository: 'acme/shop' })).toBe(false);
  expect(matchesClaims(rule, { repository: ['acme/shop'], ref: 'refs/heads/main' })).toBe(false);
  expect(matchesClaims({ toString: '*e*' }, {})).toBe(false);
  expect(matchesClaims({}, { sub: 'x' })).toBe(false);
});

test('the action rows is reading and writing', () => {
  expect(tokenActions(['rows', 'deploy'])).toEqual(['read', 'write', 'deploy']);
});
