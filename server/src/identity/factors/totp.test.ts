import { expect, test } from 'bun:test';
import { findTotpStep, newTotpSecret, toBase32, totpCode, totpUri } from './totp.ts';

/** RFC 6238, appendix B: the last six digits. */
const secret = toBase32(Buffer.from('12345678901234567890'));

test('codes are those of RFC 6238', () => {
  const codes: [number, string][] = [
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ];
  for (const [seconds, code] of codes) expect(totpCode(secret, Math.floor(seconds / 30))).toBe(code);
});

test('a code is accepted for one step before and after, and only once', () => {
  const now = new Date(1_111_111_111_000);
  const step = Math.floor(1_111_111_111 / 30);
  const find = (offset: number, after = 0) =>
    findTotpStep(secret, totpCode(secret, step + offset), { now, after });
  expect([-2, -1, 0, 1, 2].map((offset) => find(offset))).toEqual([null, step - 1, step, step + 1, null]);
  expect([find(0, step), find(1, step), find(-1, step - 1)]).toEqual([null, step + 1, null]);
  expect(findTotpStep(secret, '050 471', { now, after: 0 })).toBe(step);
  for (const wrong of ['', '0', '050472', 'abcdef', '0504711'])
    expect(findTotpStep(secret, wrong, { now, after: 0 })).toBeNull();
});

test('a secret is random, and its link names account and host', () => {
  expect(newTotpSecret()).toMatch(/^[A-Z2-7]{32}$/);
  expect(newTotpSecret()).not.toBe(newTotpSecret());
  expect(totpUri({ secret: 'ABC', email: 'ada@example.com', host: 'svc.example.com' })).toBe(
    'otpauth://totp/svc.example.com:ada%40example.com?secret=ABC&issuer=svc.example.com',
  );
});
