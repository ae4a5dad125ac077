import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicalJson } from './canonical.ts';
import { assignedOnExecution, changesOf, makePlan } from './plan.ts';

const operation = { id: 'things.create', irreversible: false };

function planOf(id: string, now: Date, name = 'a') {
  return makePlan(
    operation,
    [
      {
        action: 'thing.create',
        target: { kind: 'thing', id, name },
        before: null,
        after: { name, parent: id, made_at: now.toISOString() },
      },
    ],
    [],
    { ids: new Set([id]), now },
  );
}

describe('a plan', () => {
  test('has the same fingerprint for the same change, whatever ids and times a run makes up', () => {
    const one = planOf(Bun.randomUUIDv7(), new Date(1));
    const other = planOf(Bun.randomUUIDv7(), new Date(2));
    expect(one).toEqual(other);
    expect(one.target.id).toBe(assignedOnExecution);
  });

  test('has another fingerprint for another change', () => {
    const id = Bun.randomUUIDv7();
    expect(planOf(id, new Date(1), 'a').fingerprint).not.toBe(planOf(id, new Date(1), 'b').fingerprint);
  });

  test('leaves out fields that stay as they are', () => {
    expect(changesOf({ before: { a: 1, b: [1] }, after: { a: 2, b: [1] } })).toEqual([
      { path: 'a', before: 1, after: 2, effect: 'update' },
    ]);
  });

  test('says of several things which one a change belongs to', () => {
    const entry = (kind: string) => ({
      action: 'x',
      target: { kind, id: kind, name: kind },
      before: null,
      after: { name: kind },
    });
    const plan = makePlan(operation, [entry('app'), entry('repository')], [], {
      ids: new Set(),
      now: new Date(),
    });
    expect(plan.changes.map((change) => change.path)).toEqual(['name', 'repository.name']);
  });
});

test('canonical JSON does not depend on the order of keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const reversed = Object.fromEntries(Object.entries(object).reverse());
      expect(canonicalJson(reversed)).toBe(canonicalJson(object));
      expect(JSON.parse(canonicalJson(object))).toEqual(JSON.parse(JSON.stringify(object)));
    }),
  );
});
