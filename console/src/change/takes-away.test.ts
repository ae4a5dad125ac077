import { expect, test } from 'bun:test';
import type { Plan } from '@svc/contract/plan.ts';
import { takesAway } from './takes-away.ts';

const plan = (set: Partial<Plan>): Plan => ({
  operation: 'apps.update',
  target: { kind: 'app', id: 'a', name: 'a' },
  changes: [{ path: 'name', before: 'a', after: 'b', effect: 'update' }],
  warnings: [],
  irreversible: false,
  fingerprint: 'f',
  ...set,
});

test('what archives, deletes or can not be undone takes something away, and what only changes does not', () => {
  for (const set of [
    { operation: 'apps.archive' },
    { operation: 'apps.delete' },
    { irreversible: true },
    { changes: [{ path: 'name', before: 'a', after: null, effect: 'delete' }] },
  ] satisfies Partial<Plan>[])
    expect([set, takesAway(plan(set))]).toEqual([set, true]);
  expect(takesAway(plan({}))).toBe(false);
  expect(takesAway(plan({ operation: 'apps.create' }))).toBe(false);
});
