import { expect, test } from 'bun:test';
import type { Plan } from '@svc/contract/plan.ts';
import { mergePlans } from './merge-plans.ts';

const plan = (name: string): Plan => ({
  operation: 'storage.delete',
  target: { kind: 'object', id: name, name },
  changes: [{ path: 'size', before: 1, after: null, effect: 'delete' }],
  warnings: [`look at ${name}`],
  irreversible: name === 'b',
  fingerprint: `sum of ${name}`,
});

test('several plans become one that names the target of each change', () => {
  expect(mergePlans([plan('a'), plan('b')])).toEqual({
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
  expect(mergePlans([plan('a')])).toEqual(plan('a'));
});
