import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { seal, unseal } from './seal.ts';

const key = randomBytes(32);

test('sealed text opens only with the value it was bound to', () => {
  const sealed = seal(key, { text: 'secret', boundTo: 'one' });
  expect(unseal(key, { sealed, boundTo: 'one' })).toBe('secret');
  expect(() => unseal(key, { sealed, boundTo: 'two' })).toThrow();
  expect(() => unseal(randomBytes(32), { sealed, boundTo: 'one' })).toThrow();
});

test('a shortened authentication tag is refused', () => {
  const sealed = seal(key, { text: '', boundTo: 'one' });
  expect(unseal(key, { sealed, boundTo: 'one' })).toBe('');
  for (const left of [12, 16, 20, 24, 27])
    expect(() => unseal(key, { sealed: sealed.subarray(0, left), boundTo: 'one' })).toThrow();
});
