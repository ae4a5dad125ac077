import { expect, test } from 'bun:test';
import { canOwnRows, columnErrors, columnSpec, newDraft } from './column-draft.ts';

const faultsOf = (draft: object, others: string[] = []) =>
  Object.keys(columnErrors({ ...newDraft(), name: 'title', ...draft }, others));

test('a column name is valid and unused', () => {
  expect(faultsOf({})).toEqual([]);
  for (const name of ['', 'Title', '1st', '_x', 'select', 'on_conflict', 'a'.repeat(64)]) {
    expect([name, faultsOf({ name })]).toEqual([name, ['name']]);
  }
  expect(faultsOf({}, ['title'])).toEqual(['name']);
});

test('a default is a literal of the type or its function', () => {
  expect(faultsOf({ hasDefault: true, default: '' })).toEqual([]);
  expect(faultsOf({ type: 'int', hasDefault: true, default: 'x' })).toEqual(['default']);
  expect(faultsOf({ type: 'int', hasDefault: false, default: 'x' })).toEqual([]);
  expect(faultsOf({ type: 'timestamptz', hasDefault: true, default: 'now()' })).toEqual([]);
  expect(faultsOf({ type: 'text', hasDefault: true, default: 'now()' })).toEqual([]);
  expect(faultsOf({ type: 'int', hasDefault: true, default: 'now()' })).toEqual(['default']);
  expect(faultsOf({ type: 'jsonb', hasDefault: true, default: 'null' })).toEqual(['default']);
});

test('an id has an id type, is not null, and has no literal default', () => {
  expect(faultsOf({ name: 'id', type: 'bool', nullable: true })).toEqual(['type', 'nullable']);
  expect(faultsOf({ name: 'id', type: 'text', hasDefault: true, default: 'x' })).toEqual(['default']);
  expect(faultsOf({ name: 'id', type: 'uuid', hasDefault: true, default: 'gen_random_uuid()' })).toEqual([]);
});

test('an owner column is a text or a uuid', () => {
  expect(canOwnRows({ name: 'owner', type: 'uuid' })).toBe(true);
  expect(canOwnRows({ name: 'owner', type: 'int' })).toBe(false);
  expect(canOwnRows({ name: 'id', type: 'uuid' })).toBe(false);
});

test('a disabled default is not sent', () => {
  const draft = { ...newDraft(), name: 'n', default: 'x' };
  expect(columnSpec(draft).default).toBeNull();
  expect(columnSpec({ ...draft, hasDefault: true }).default).toBe('x');
});
