import { expect, test } from 'bun:test';
import type { Plan } from '@svc/contract/plan.ts';
import { newBatch } from './batch.ts';

const plan = (name: string, version: number): Plan => ({
  operation: 'storage.delete',
  target: { kind: 'object', id: name, name },
  changes: [{ path: 'size', before: 1, after: null, effect: 'delete' }],
  warnings: [],
  irreversible: true,
  fingerprint: `${name}${version}`,
});

test('completed items of a batch are neither previewed nor executed again', async () => {
  const previewed: string[] = [];
  const executed: { item: string; ifPlan: string; key: string }[] = [];
  let version = 1;
  const batch = newBatch(['a', 'b'], {
    preview: async (item) => {
      previewed.push(item);
      return plan(item, version);
    },
    execute: async (item, how) => {
      executed.push({ item, ...how });
      if (item === 'b' && how.ifPlan === 'b1') throw new Error('stale');
      return `${item} is gone`;
    },
  });
  expect((await batch.preview()).fingerprint).toBe('a1 b1');
  await expect(batch.execute()).rejects.toThrow('stale');
  version = 2;
  expect((await batch.preview()).fingerprint).toBe('b2');
  expect(previewed).toEqual(['a', 'b', 'b']);
  expect(await batch.execute()).toEqual([
    { item: 'a', answer: 'a is gone' },
    { item: 'b', answer: 'b is gone' },
  ]);
  expect(executed.map(({ item, ifPlan }) => `${item} ${ifPlan}`)).toEqual(['a a1', 'b b1', 'b b2']);
  const [a, b, again] = executed.map(({ key }) => key);
  expect(again).toBe(b!);
  expect(a).not.toBe(b!);
});
