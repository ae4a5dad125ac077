import { expect, test } from 'bun:test';
import { whyNotVisit } from './why-not-visit.ts';

test('an app is seen at its address by its owners, by who is invited, and by all whom it is shown to', () => {
  const may = (visibility: Parameters<typeof whyNotVisit>[0]['visibility']) =>
    (['owner', 'co_owner', 'member', 'none'] as const).filter(
      (relation) => whyNotVisit({ visibility, relation }) === null,
    );
  expect(may('private')).toEqual(['owner', 'co_owner']);
  expect(may('invite_only')).toEqual(['owner', 'co_owner', 'member']);
  expect(may('public')).toEqual(['owner', 'co_owner', 'member', 'none']);
  expect(may('internet')).toEqual(['owner', 'co_owner', 'member', 'none']);
});
