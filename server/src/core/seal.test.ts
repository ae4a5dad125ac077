import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { type SealingKey, seal, unseal } from './seal.ts';

const generations = new Map([1, 2].map((generation) => [generation, randomBytes(32)]));
const key: SealingKey = { name: 'test', current: 1, generations };

test('sealed text opens only with the value it was bound to', () => {
  const sealed = seal(key, { text: 'secret', boundTo: 'one' });
  expect(unseal(key, { sealed, boundTo: 'one' })).toBe('secret');
  expect(() => unseal(key, { sealed, boundTo: 'two' })).toThrow();
  const other = { ...key, generations: new Map([[1, randomBytes(32)]]) };
  expect(() => unseal(other, { sealed, boundTo: 'one' })).toThrow();
});

test('a value opens with the generation that sealed it, until that is deleted', () => {
  const sealed = seal(key, { text: 'secret', boundTo: 'one' });
  const rotated = { ...key, current: 2 };
  expect(unseal(rotated, { sealed, boundTo: 'one' })).toBe('secret');
  expect(seal(rotated, { text: 'secret', boundTo: 'one' }).readInt32BE()).toBe(2);
  const deleted = { ...rotated, generations: new Map([...generations].filter(([it]) => it === 2)) };
  expect(() => unseal(deleted, { sealed, boundTo: 'one' })).toThrow('has no generation 1');
});

test('a shortened authentication tag is refused', () => {
  const sealed = seal(key, { text: '', boundTo: 'one' });
  expect(unseal(key, { sealed, boundTo: 'one' })).toBe('');
  for (const left of [0, 4, 16, 20, 24, 28, 31])
    expect(() => unseal(key, { sealed: sealed.subarray(0, left), boundTo: 'one' })).toThrow();
});
