import { expect, test } from 'bun:test';
import { readUrlToken, signUrlToken } from './signed-url.ts';

const now = new Date('2027-01-31T12:00:00Z');
const expires = now.getTime() / 1000 + 60;
const claims = { purpose: 'object.get', expires, key: 'ü/"x"' };
const token = signUrlToken('key', claims);

test('what was signed is read again, until the second in which it expires', () => {
  expect(readUrlToken<typeof claims>('key', token, now)).toEqual(claims);
  expect(readUrlToken('key', token, new Date((expires - 1) * 1000))).not.toBe('expired');
  expect(readUrlToken('key', token, new Date(expires * 1000))).toBe('expired');
});

test('any other text is nothing, whatever is changed of it, and so is one of another key', () => {
  expect(readUrlToken('other', token, now)).toBeNull();
  expect(signUrlToken('other', claims)).not.toBe(token);
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
    expect([at, readUrlToken('key', changed, now)]).toEqual([at, null]);
  }
  for (const odd of ['', '.', 'a', 'a.', '.a', `${token}.`, `${token}=`, ` ${token}`, `${token}.x`])
    expect([odd, readUrlToken('key', odd, now)]).toEqual([odd, null]);
});

test('an expired one that we did not sign is not told apart', () => {
  const forged = signUrlToken('other', { ...claims, expires: 0 });
  expect(readUrlToken('key', forged, now)).toBeNull();
});
