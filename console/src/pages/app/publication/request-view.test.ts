import { expect, test } from 'bun:test';
import { hasPending } from './request-view.ts';

test('requests are asked for again as long as one of them waits', () => {
  expect(hasPending([])).toBe(false);
  expect(hasPending([{ status: 'approved' }, { status: 'rejected' }])).toBe(false);
  expect(hasPending([{ status: 'approved' }, { status: 'pending' }])).toBe(true);
});
