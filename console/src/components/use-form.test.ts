import { expect, test } from 'bun:test';
import { changedFields, itemFields } from './use-form.ts';

const item = { name: '', count: 1, unique: false };

function formWithItem(errors: Record<string, string> = {}) {
  const sets: unknown[] = [];
  const form = {
    values: { items: [item] },
    set: (part: unknown) => sets.push(part),
    error: (name: string) => errors[name],
  };
  return { fields: itemFields(form, 'items', 0), sets };
}

test('a field takes events of native inputs and values of Mantine inputs', () => {
  const { fields, sets } = formWithItem();
  fields.field('name').onChange({ currentTarget: { type: 'text', value: 'a' } });
  fields.field('name').onChange('b');
  fields.field('name').onChange(null);
  fields.field('count').onChange('');
  fields.checkbox('unique').onChange({ currentTarget: { type: 'checkbox', checked: true } });
  expect(sets).toEqual([
    { items: [{ ...item, name: 'a' }] },
    { items: [{ ...item, name: 'b' }] },
    { items: [{ ...item, name: '' }] },
    { items: [{ ...item, count: 0 }] },
    { items: [{ ...item, unique: true }] },
  ]);
});

test('a field has a label and the error of its path', () => {
  const { fields } = formWithItem({ 'items.0.name': 'must not be empty' });
  expect(fields.field('name')).toMatchObject({ label: 'Name', value: '', error: 'must not be empty' });
  expect(fields.select('name').value).toBeNull();
  expect(fields.checkbox('unique')).toMatchObject({ label: 'Unique', checked: false, error: undefined });
});

test('only changed fields are sent', () => {
  const before = { name: 'A', scopes: ['x'], category: null as string | null };
  expect(changedFields(before, { ...before, scopes: ['x'] })).toEqual({});
  expect(changedFields(before, { ...before, name: 'B' })).toEqual({ name: 'B' });
  expect(changedFields(before, { name: 'A', scopes: ['x', 'y'], category: 'c' })).toEqual({
    scopes: ['x', 'y'],
    category: 'c',
  });
});
