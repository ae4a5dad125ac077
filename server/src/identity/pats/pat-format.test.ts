import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isWellFormedPat, makePat } from './find-pat.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('generated tokens pass their own check', () => {
  let failed = 0;
  for (let n = 0; n < 50_000; n++) if (!isWellFormedPat(makePat())) failed++;
  expect(failed).toBe(0);
});

test('a token is the prefix and 36 characters, and unique', () => {
  const made = Array.from({ length: 10_000 }, makePat);
  expect(made.filter((pat) => !/^svcpat_[0-9A-Za-z]{36}$/.test(pat))).toEqual([]);
  expect(new Set(made).size).toBe(made.length);
});

test('a token with one changed character is refused', () => {
  let accepted = 0;
  for (let n = 0; n < 100; n++) {
    const pat = makePat();
    for (let place = 0; place < pat.length; place++) {
      for (const other of `${alphabet}_- \n`) {
        if (other === pat[place]) continue;
        if (isWellFormedPat(pat.slice(0, place) + other + pat.slice(place + 1))) accepted++;
      }
    }
  }
  expect(accepted).toBe(0);
});

test('a token with a missing, additional or swapped character is refused', () => {
  fc.assert(
    fc.property(fc.nat(42), fc.constantFrom(...alphabet), (place, extra) => {
      const pat = makePat();
      const swapped = pat.slice(0, place) + (pat[place + 1] ?? '') + pat[place] + pat.slice(place + 2);
      expect(isWellFormedPat(pat.slice(0, place) + pat.slice(place + 1))).toBe(false);
      expect(isWellFormedPat(pat.slice(0, place) + extra + pat.slice(place))).toBe(false);
      if (swapped !== pat) expect(isWellFormedPat(swapped)).toBe(false);
    }),
  );
});

test('other text is refused', () => {
  fc.assert(fc.property(fc.string(), (text) => !isWellFormedPat(text) && !isWellFormedPat(`svcpat_${text}`)));
  expect(isWellFormedPat(`${makePat()}\n`)).toBe(false);
});

test('each character of the alphabet is as likely as any other', () => {
  const counts = new Map<string, number>();
  const tokens = 20_000;
  for (let n = 0; n < tokens; n++) {
    for (const char of makePat().slice(7, 37)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  const expected = (tokens * 30) / alphabet.length;
  // Six standard deviations: practically never exceeded by chance; bytes modulo 62 would be off by twenty.
  const farthest = Math.max(...[...alphabet].map((char) => Math.abs((counts.get(char) ?? 0) - expected)));
  expect(farthest).toBeLessThan(6 * Math.sqrt(expected));
});
