import { expect, test } from 'bun:test';
import { appRecords } from '@svc/contract/app-states.ts';
import { whyNotActive, whyNotInUse } from './why-not-active.ts';

test('every record but the active one has a reason of its own, with what brings it back', () => {
  const reasons = appRecords.map((record) => whyNotActive({ record }));
  expect(reasons.filter((reason) => reason === null)).toHaveLength(1);
  expect(new Set(reasons).size).toBe(appRecords.length);
  expect(whyNotActive({ record: 'deleted' })).toContain('restore');
  expect(whyNotActive({ record: 'archived' })).toContain('reactivate');
});

test('a suspended app is active and not in use; what is worse is said first', () => {
  expect(whyNotActive({ record: 'active' })).toBeNull();
  expect(whyNotInUse({ record: 'active', runtime: 'running' })).toBeNull();
  expect(whyNotInUse({ record: 'active', runtime: 'suspended' })).toContain('resume');
  expect(whyNotInUse({ record: 'deleted', runtime: 'suspended' })).toContain('restore');
});
