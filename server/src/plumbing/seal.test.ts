import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { seal, unseal } from './seal.ts';

const key = randomBytes(32);

test('what is sealed opens for what it was bound to and for nothing else', () => {
  const sealed = seal(key, { text: 'secret', boundTo: 'one' });
  expect(unseal(key, { sealed, boundTo: 'one' })).toBe('secret');
  expect(() => unseal(key, { sealed, boundTo: 'two' })).toThrow();
  expect(() => unseal(randomBytes(32), { sealed, boundTo: 'one' })).toThrow();
});

test('a seal whose proof is cut short does not open: four bytes of it could be guessed', () => {
  const sealed = seal(key, { text: '', boundTo: 'one' });
  expect(unseal(key, { sealed, boundTo: 'one' })).toBe('');
  for (const left of [12, 16, 20, 24, 27])
    expect(() => unseal(key, { sealed: sealed.subarray(0, left), boundTo: 'one' })).toThrow();
});
