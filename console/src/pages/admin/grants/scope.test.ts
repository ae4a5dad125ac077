import { expect, test } from 'bun:test';
import { parseScope, scopeCount } from './scope.ts';

test('a scope is parsed line by line without duplicates, in order', () => {
  const scope = parseScope(' hr/people \nsales\n\nhr/people, sales/orders\n');
  expect(scope).toEqual({ entries: ['hr/people', 'sales', 'sales/orders'], duplicates: 1, fault: null });
  expect(scopeCount(scope)).toBe('3 of 200 entries; 1 duplicate ignored.');
});

test('an empty scope is the whole connector', () => {
  expect(parseScope('\n ,\n')).toEqual({ entries: [], duplicates: 0, fault: null });
  expect(scopeCount(parseScope(''))).toBe('Empty: the whole connector.');
});

test('invalid entries are named in the error', () => {
  expect(parseScope('a/b/c\n../x\nok').fault).toBe('must be schema or schema/table: a/b/c, ../x');
  expect(parseScope('a b').fault).toContain('a b');
});

test('the limit ignores duplicates', () => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `s/t${at}`).join('\n');
  expect(parseScope(`${lines(200)}\n${lines(200)}`).fault).toBeNull();
  expect(parseScope(lines(201)).fault).toBe('has 201 entries, at most 200 are allowed');
});
