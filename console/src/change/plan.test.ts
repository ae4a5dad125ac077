import { expect, test } from 'bun:test';
import type { Plan } from '@svc/contract/plan.ts';
import { isDestructive, mergePlans } from './plan.ts';

const deletePlan = (name: string): Plan => ({
  operation: 'storage.delete',
  target: { kind: 'object', id: name, name },
  changes: [{ path: 'size', before: 1, after: null, effect: 'delete' }],
  warnings: [`look at ${name}`],
  irreversible: name === 'b',
  fingerprint: `sum of ${name}`,
});

test('merged plans name the target of each change', () => {
  expect(mergePlans([deletePlan('a'), deletePlan('b')])).toEqual({
    operation: 'storage.delete',
    target: { kind: 'object', id: '', name: '' },
    changes: [
      { path: 'a · size', before: 1, after: null, effect: 'delete' },
      { path: 'b · size', before: 1, after: null, effect: 'delete' },
    ],
    warnings: ['a: look at a', 'b: look at b'],
    irreversible: true,
    fingerprint: 'sum of a sum of b',
  });
  expect(mergePlans([deletePlan('a')])).toEqual(deletePlan('a'));
});

const updatePlan = (set: Partial<Plan>): Plan => ({
  operation: 'apps.update',
  target: { kind: 'app', id: 'a', name: 'a' },
  changes: [{ path: 'name', before: 'a', after: 'b', effect: 'update' }],
  warnings: [],
  irreversible: false,
  fingerprint: 'f',
  ...set,
});

test('archiving, deleting and irreversible changes are destructive, updates are not', () => {
  for (const set of [
    { operation: 'apps.archive' },
    { operation: 'apps.delete' },
    { irreversible: true },
    { changes: [{ path: 'name', before: 'a', after: null, effect: 'delete' }] },
  ] satisfies Partial<Plan>[])
    expect([set, isDestructive(updatePlan(set))]).toEqual([set, true]);
  expect(isDestructive(updatePlan({}))).toBe(false);
  expect(isDestructive(updatePlan({ operation: 'apps.create' }))).toBe(false);
});
