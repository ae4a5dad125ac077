import { expect, test } from 'bun:test';
import { readScope, scopeCount } from './scope-text.ts';

test('a scope is read line by line, duplicates once, in the order written', () => {
  const scope = readScope(' hr/people \nsales\n\nhr/people, sales/orders\n');
  expect(scope).toEqual({ entries: ['hr/people', 'sales', 'sales/orders'], duplicates: 1, fault: null });
  expect(scopeCount(scope)).toBe('3 of 200 entries; 1 written twice, counted once.');
});

test('nothing written is the whole connector', () => {
  expect(readScope('\n ,\n')).toEqual({ entries: [], duplicates: 0, fault: null });
  expect(scopeCount(readScope(''))).toBe('Empty: the whole connector.');
});

test('what is no schema/table is named', () => {
  expect(readScope('a/b/c\n../x\nok').fault).toBe('must be schema or schema/table: a/b/c, ../x');
  expect(readScope('a b').fault).toContain('a b');
});

test('the limit counts what is left when duplicates are removed', () => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `s/t${at}`).join('\n');
  expect(readScope(`${lines(200)}\n${lines(200)}`).fault).toBeNull();
  expect(readScope(lines(201)).fault).toBe('at most 200 entries, not 201');
});
