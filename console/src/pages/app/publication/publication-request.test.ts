import { expect, test } from 'bun:test';
import { hasPending } from './publication-request.ts';

test('hasPending is true while a request is pending', () => {
  expect(hasPending([])).toBe(false);
  expect(hasPending([{ status: 'approved' }, { status: 'rejected' }])).toBe(false);
  expect(hasPending([{ status: 'approved' }, { status: 'pending' }])).toBe(true);
});
