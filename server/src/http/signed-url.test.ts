import { expect, test } from 'bun:test';
import { fixedKey } from '../core/keys.ts';
import { signUrlToken, verifyUrlToken } from './signed-url.ts';

const [key, other] = [fixedKey('key'), fixedKey('other')];
const now = new Date('2027-01-31T12:00:00Z');
const expires = now.getTime() / 1000 + 60;
const claims = { purpose: 'object.get', expires, key: 'ü/"x"' };
const token = signUrlToken(key, claims);

test('a signed token is valid until its expiry', () => {
  expect(verifyUrlToken<typeof claims>(key, token, now)).toEqual(claims);
  expect(verifyUrlToken(key, token, new Date((expires - 1) * 1000))).not.toBe('expired');
  expect(verifyUrlToken(key, token, new Date(expires * 1000))).toBe('expired');
});

test('a modified token, other text and a token of another key are invalid', () => {
  expect(verifyUrlToken(other, token, now)).toBeNull();
  expect(signUrlToken(other, claims)).not.toBe(token);
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
    expect([at, verifyUrlToken(key, changed, now)]).toEqual([at, null]);
  }
  for (const odd of ['', '.', 'a', 'a.', '.a', `${token}.`, `${token}=`, ` ${token}`, `${token}.x`])
    expect([odd, verifyUrlToken(key, odd, now)]).toEqual([odd, null]);
});

test('an expired token with an invalid signature is invalid, not expired', () => {
  const forged = signUrlToken(other, { ...claims, expires: 0 });
  expect(verifyUrlToken(key, forged, now)).toBeNull();
});

test('a token of a previous generation of the key is valid as long as that is accepted', () => {
  const rotated = { current: () => 'new', accepted: () => ['new', 'key'] };
  expect(verifyUrlToken<typeof claims>(rotated, token, now)).toEqual(claims);
  expect(verifyUrlToken(key, signUrlToken(rotated, claims), now)).toBeNull();
});
