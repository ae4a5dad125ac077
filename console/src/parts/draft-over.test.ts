import { expect, test } from 'bun:test';
import { changedBelow, type Draft, drafted, withFields } from './draft-over.ts';

const record = { name: 'Desk', summary: 'Books desks', scopes: ['read'] };
const none: Draft<typeof record> = {};

test('what is typed stays when another field of the record changes, and that field is the newest', () => {
  const draft = withFields(record, none, { summary: 'Books rooms' });
  const newest = { ...record, name: 'Rooms' };
  expect(drafted(newest, draft)).toEqual({ ...newest, summary: 'Books rooms' });
  expect(changedBelow(newest, draft)).toEqual([]);
});

test('a field that somebody else changed to something else is told, one changed to the same is not', () => {
  const typed = withFields(record, none, { summary: 'Mine' });
  const draft = withFields(record, typed, { summary: 'Mine too' });
  expect(changedBelow({ ...record, summary: 'Theirs' }, draft)).toEqual(['summary']);
  expect(changedBelow({ ...record, summary: 'Mine too' }, draft)).toEqual([]);
  expect(drafted({ ...record, summary: 'Theirs' }, draft).summary).toBe('Mine too');
});

test('what is typed back to what the record has is no draft any more', () => {
  const draft = withFields(record, none, { summary: 'Mine', scopes: ['read', 'write'] });
  expect(withFields(record, draft, { summary: record.summary, scopes: ['read'] })).toEqual({});
});
