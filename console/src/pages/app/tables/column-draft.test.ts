import { expect, test } from 'bun:test';
import { canOwnRows, columnOf, draftFaults, newDraft } from './column-draft.ts';

const faultsOf = (draft: object, others: string[] = []) =>
  Object.keys(draftFaults({ ...newDraft(), name: 'title', ...draft }, others));

test('a name is one that the service takes, and not there yet', () => {
  expect(faultsOf({})).toEqual([]);
  for (const name of ['', 'Title', '1st', '_x', 'select', 'on_conflict', 'a'.repeat(64)]) {
    expect([name, faultsOf({ name })]).toEqual([name, ['name']]);
  }
  expect(faultsOf({}, ['title'])).toEqual(['name']);
});

test('a default is a literal of its type, or what the service makes', () => {
  expect(faultsOf({ hasDefault: true, default: '' })).toEqual([]);
  expect(faultsOf({ type: 'int', hasDefault: true, default: 'x' })).toEqual(['default']);
  expect(faultsOf({ type: 'int', hasDefault: false, default: 'x' })).toEqual([]);
  expect(faultsOf({ type: 'timestamptz', hasDefault: true, default: 'now()' })).toEqual([]);
  expect(faultsOf({ type: 'text', hasDefault: true, default: 'now()' })).toEqual([]);
  expect(faultsOf({ type: 'int', hasDefault: true, default: 'now()' })).toEqual(['default']);
  expect(faultsOf({ type: 'jsonb', hasDefault: true, default: 'null' })).toEqual(['default']);
});

test('an id has a type of its own, is never null and is given by the service or by hand', () => {
  expect(faultsOf({ name: 'id', type: 'bool', nullable: true })).toEqual(['type', 'nullable']);
  expect(faultsOf({ name: 'id', type: 'text', hasDefault: true, default: 'x' })).toEqual(['default']);
  expect(faultsOf({ name: 'id', type: 'uuid', hasDefault: true, default: 'gen_random_uuid()' })).toEqual([]);
});

test('rows belong to whom a text or a uuid names', () => {
  expect(canOwnRows({ name: 'owner', type: 'uuid' })).toBe(true);
  expect(canOwnRows({ name: 'owner', type: 'int' })).toBe(false);
  expect(canOwnRows({ name: 'id', type: 'uuid' })).toBe(false);
});

test('a default that is switched off is not sent', () => {
  const draft = { ...newDraft(), name: 'n', default: 'x' };
  expect(columnOf(draft).default).toBeNull();
  expect(columnOf({ ...draft, hasDefault: true }).default).toBe('x');
});
