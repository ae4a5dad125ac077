import { expect, test } from 'bun:test';
import { changedFields } from './changed-fields.ts';

test('only what differs is sent', () => {
  const before = { name: 'A', scopes: ['x'], category: null as string | null };
  expect(changedFields(before, { ...before, scopes: ['x'] })).toEqual({});
  expect(changedFields(before, { ...before, name: 'B' })).toEqual({ name: 'B' });
  expect(changedFields(before, { name: 'A', scopes: ['x', 'y'], category: 'c' })).toEqual({
    scopes: ['x', 'y'],
    category: 'c',
  });
});
