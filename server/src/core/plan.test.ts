import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { assignedOnExecution, fieldChanges, makePlan } from './plan.ts';
import { canonicalJson } from './values.ts';

const operation = { id: 'things.create', irreversible: false };

function makeTestPlan(id: string, now: Date, name = 'a') {
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
  test('has the same fingerprint for the same change, whatever the generated ids and times', () => {
    const one = makeTestPlan(Bun.randomUUIDv7(), new Date(1));
    const other = makeTestPlan(Bun.randomUUIDv7(), new Date(2));
    expect(one).toEqual(other);
    expect(one.target.id).toBe(assignedOnExecution);
  });

  test('has another fingerprint for another change', () => {
    const id = Bun.randomUUIDv7();
    expect(makeTestPlan(id, new Date(1), 'a').fingerprint).not.toBe(
      makeTestPlan(id, new Date(1), 'b').fingerprint,
    );
  });

  test('omits unchanged fields', () => {
    expect(fieldChanges({ before: { a: 1, b: [1] }, after: { a: 2, b: [1] } })).toEqual([
      { path: 'a', before: 1, after: 2, effect: 'update' },
    ]);
  });

  test('prefixes the paths of other targets with their kind', () => {
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

  test('tells several targets of one kind apart by name, also new ones', () => {
    const entry = (name: string, id: string) => ({
      action: 'x',
      target: { kind: 'table', id, name },
      before: null,
      after: { columns: 1 },
    });
    const entries = [entry('menu', 'new1'), entry('orders', 'new2'), entry('people', 'old')];
    const run = { ids: new Set(['new1', 'new2']), now: new Date() };
    expect(makePlan(operation, entries, [], run).changes.map((change) => change.path)).toEqual([
      'columns',
      'table orders.columns',
      'table people.columns',
    ]);
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
