import { expect, test } from 'bun:test';
import { applyDraft, conflictingFields, type Draft, updateDraft } from './form-draft.ts';

const record = { name: 'Desk', summary: 'Books desks', scopes: ['read'] };
const none: Draft<typeof record> = {};

test('an edit survives a change of another field of the record', () => {
  const draft = updateDraft(record, none, { summary: 'Books rooms' });
  const newest = { ...record, name: 'Rooms' };
  expect(applyDraft(newest, draft)).toEqual({ ...newest, summary: 'Books rooms' });
  expect(conflictingFields(newest, draft)).toEqual([]);
});

test('a field changed to a third value is a conflict, one changed to the same value is not', () => {
  const typed = updateDraft(record, none, { summary: 'Mine' });
  const draft = updateDraft(record, typed, { summary: 'Mine too' });
  expect(conflictingFields({ ...record, summary: 'Theirs' }, draft)).toEqual(['summary']);
  expect(conflictingFields({ ...record, summary: 'Mine too' }, draft)).toEqual([]);
  expect(applyDraft({ ...record, summary: 'Theirs' }, draft).summary).toBe('Mine too');
});

test('restoring the value of the record removes the edit', () => {
  const draft = updateDraft(record, none, { summary: 'Mine', scopes: ['read', 'write'] });
  expect(updateDraft(record, draft, { summary: record.summary, scopes: ['read'] })).toEqual({});
});
